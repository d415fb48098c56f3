// @ts-check
/**
 * What a load run says (spec §9.4, its defect H5 mended). The law: latency and throughput are those of answers; a failure
 * that took long or came at once says nothing about how fast the server answers, so it is counted and nothing else.
 */

/**
 * @typedef {object} Attempt One request.
 * @property {number} ms
 * @property {string} [failure] Why it gave no answer; absent when it did.
 *
 * @typedef {object} Run
 * @property {string} url
 * @property {string} tool
 * @property {number} concurrency
 * @property {number} elapsedMs Of the whole run.
 * @property {readonly Attempt[]} attempts
 *
 * @typedef {object} Summary
 * @property {string} url
 * @property {string} tool
 * @property {number} concurrency
 * @property {number} total
 * @property {number} succeeded
 * @property {number} failed
 * @property {number} duration_s
 * @property {number} throughput_rps Answers per second.
 * @property {{ p50: number, p95: number, p99: number, max: number } | null} latency_ms Null when nothing was answered.
 * @property {string | null} example_error The first failure.
 */

/**
 * The reference's definition: `sorted[min(n - 1, int(n · p))]`. NaN of nothing.
 *
 * @param {readonly number[]} sorted ascending
 * @param {number} p from 0 to 1
 */
export function percentile(sorted, p) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

/** @param {readonly number[]} values */
export const ascending = (values) => [...values].sort((a, b) => a - b);

/** @param {Run} run @returns {Summary} */
export function summarise({ url, tool, concurrency, elapsedMs, attempts }) {
  const times = ascending(attempts.filter(({ failure }) => failure === undefined).map(({ ms }) => ms));
  const failures = attempts.flatMap(({ failure }) => failure ?? []);
  return {
    url,
    tool,
    concurrency,
    total: attempts.length,
    succeeded: times.length,
    failed: failures.length,
    duration_s: elapsedMs / 1000,
    throughput_rps: elapsedMs > 0 ? (1000 * times.length) / elapsedMs : 0,
    latency_ms:
      times.length === 0
        ? null
        : {
            p50: percentile(times, 0.5),
            p95: percentile(times, 0.95),
            p99: percentile(times, 0.99),
            max: percentile(times, 1),
          },
    example_error: failures[0] ?? null,
  };
}

/** The reference's lines. @param {Summary} summary */
export function report(summary) {
  const { latency_ms: latency } = summary;
  const ms = (/** @type {number | undefined} */ value) => (value === undefined ? '-' : `${value.toFixed(1)} ms`);
  const lines = [
    `URL: ${summary.url}`,
    `Tool: ${summary.tool}`,
    `Concurrencia: ${summary.concurrency}`,
    `Total peticiones: ${summary.total}`,
    `Exitosas: ${summary.succeeded}`,
    `Fallidas: ${summary.failed}`,
    `Duración total: ${summary.duration_s.toFixed(2)} s`,
    `Throughput: ${summary.throughput_rps.toFixed(1)} req/s`,
    `Latencia p50: ${ms(latency?.p50)}`,
    `Latencia p95: ${ms(latency?.p95)}`,
    `Latencia p99: ${ms(latency?.p99)}`,
    `Latencia máxima: ${ms(latency?.max)}`,
  ];
  if (summary.example_error !== null) lines.push(`Ejemplo de error: ${summary.example_error}`);
  return `${lines.join('\n')}\n`;
}
