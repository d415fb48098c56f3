import { legacy, send } from '../support/mcp-http.js';

/** The customer that everybody asks for; both sources know her. */
export const IDENTIFIER = 'V16760320';

export type Tool = 'consultar_cliente' | 'consultar_saldo';

const RIGHT = {
  consultar_cliente: { cedula: IDENTIFIER, nombre: 'Ana María Restrepo', estado: 'activo' },
  consultar_saldo: { cedula: IDENTIFIER, saldo: 1500000.5, moneda: 'COP' },
} as const;

/** The stable codes of a source (architecture §4, law 8), `ok` for the right answer, and what must never be. */
export type Code = 'circuit_open' | 'saturated' | 'rate_limited' | 'timeout' | 'unavailable' | 'rejected' | 'ok';
export const CODES: readonly Code[] = [
  'circuit_open',
  'saturated',
  'rate_limited',
  'timeout',
  'unavailable',
  'rejected',
  'ok',
];

export interface Outcome {
  /** One of CODES, or a text that says what came instead. */
  readonly code: string;
  readonly milliseconds: number;
}

/** One call of a tool, as a client of the 2025 era makes it; never rejects. */
export async function ask(url: string, tool: Tool): Promise<Outcome> {
  const begun = performance.now();
  const code = await answer(url, tool).catch((error: unknown) => `no answer: ${String(error)}`);
  return { code, milliseconds: performance.now() - begun };
}

interface ToolResult {
  readonly isError?: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly _meta?: { readonly 'mcp-corp/error'?: { readonly code?: string } };
}

async function answer(url: string, tool: Tool): Promise<string> {
  const reply = await legacy(`${url}/mcp`, 'tools/call', { name: tool, arguments: { identificador: IDENTIFIER } });
  if (reply.status !== 200) return `status ${reply.status}`;
  const result = reply.json.result as ToolResult;
  if (result.isError) return result._meta?.['mcp-corp/error']?.code ?? 'an error without a code';
  const given = result.structuredContent ?? {};
  return Object.entries(RIGHT[tool]).every(([name, value]) => given[name] === value) ? 'ok' : 'a wrong answer';
}

export interface Witnessed {
  readonly calls: number;
  readonly failures: readonly string[];
  /** Of the calls, and of the /health in between, which asks no source: what the machine itself takes. Milliseconds. */
  readonly p95: number;
  readonly machineP95: number;
  readonly machineWorst: number;
}

const FEWEST = 20;

/** Calls the other source, one call after the other, and keeps whatever was not right. */
export class Witness {
  readonly #times: number[] = [];
  readonly #machine: number[] = [];
  readonly #failures: string[] = [];
  readonly #done: Promise<void>;
  #stopped = false;

  constructor(url: string, tool: Tool) {
    this.#done = this.#watch(url, tool);
  }

  /** Resolves when there are enough calls to speak of a percentile. */
  async stop(): Promise<Witnessed> {
    this.#stopped = true;
    await this.#done;
    return {
      calls: this.#times.length + 1,
      failures: this.#failures,
      p95: percentile(this.#times, 0.95),
      machineP95: percentile(this.#machine, 0.95),
      machineWorst: percentile(this.#machine, 1),
    };
  }

  async #watch(url: string, tool: Tool): Promise<void> {
    // The first call opens the connection, and is no measure.
    const { code: opened } = await ask(url, tool);
    if (opened !== 'ok') this.#failures.push(opened);
    while (!this.#stopped || this.#times.length < FEWEST) {
      const { code, milliseconds } = await ask(url, tool);
      this.#times.push(milliseconds);
      if (code !== 'ok') this.#failures.push(code);
      const begun = performance.now();
      const health = await send(`${url}/health`, { method: 'GET' }).catch(() => undefined);
      if (health?.status !== 200) this.#failures.push('/health');
      // The server is gone: the case has failed already.
      if (health === undefined) return;
      this.#machine.push(performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
}
