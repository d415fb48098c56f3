// @ts-check
/**
 * Copies of the built product: one as it is, which shows what the machine's noise alone makes of two that are the same, and one
 * without the hooks of traces and metrics, which is what a build without them would be. The hooks are taken out of the compiled
 * code line by line; one that has moved is an error, or the comparison would be with itself.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Beside `node_modules`, so that the copies find the packages of the product and not those of its peers. */
const COPIES = path.join(ROOT, '.bench-copies');

/** File, what stands there, what stands there instead. @type {readonly (readonly [string, string, string])[]} */
const HOOKS = [
  ['mcp/mcp.controller.js', 'const parent = parentSpanOf(req.headers, message);', ''],
  [
    'mcp/mcp.controller.js',
    'const inbound = { exchange, caller, parent, tracer: this.#tracer };',
    'const inbound = { exchange, caller };',
  ],
  ['mcp/start-call.js', 'const trace = inbound.tracer?.begin(entry, inbound.parent);', ''],
  [
    'mcp/start-call.js',
    'new LiveCall(entry, input, inbound, stream, round, trace)',
    'new LiveCall(entry, input, inbound, stream, round)',
  ],
  ['mcp/start-call.js', 'const { correlationId, traceId } = call;', 'const { correlationId } = call;'],
  ['mcp/start-call.js', '{ correlationId, traceId, span: trace?.current }', '{ correlationId }'],
  ['mcp/start-call.js', 'trace?.end();', ''],
  ['mcp/live-call.js', '{ exchange, caller, parent }, stream, round, trace)', '{ exchange, caller }, stream, round)'],
  ['mcp/live-call.js', 'this.trace = trace;', ''],
  ['mcp/live-call.js', 'this.traceId = trace === undefined ? parent?.traceId : trace.traceId;', ''],
  ['resilience/executor.js', 'const trace = this.#observer.began?.(this.source);', 'const trace = undefined;'],
  ['resilience/executor.js', 'this.#observer.queued?.(this.source);\n        trace?.queued();', ''],
  [
    'resilience/executor.js',
    'this.#observer.started?.(this.source, (now - arrivedAt) / 1000);\n        trace?.connecting();',
    '',
  ],
  [
    'resilience/running-call.js',
    'return trace === undefined ? operation(resource, signal) : trace.operating(() => operation(resource, signal));',
    'return operation(resource, signal);',
  ],
  ['resilience/running-call.js', 'const { trace } = this;', ''],
  ['resilience/running-call.js', 'this.trace = trace;', ''],
  ['resilience/call-outcomes.js', 'const { observer } = this.parts;\n        call.trace?.ended(outcome);', 'return;'],
  ['resilience/call-outcomes.js', 'this.parts.observer.settlingChanged?.(this.connector.name, this.#settling);', ''],
  ['audit/audit-trail.js', 'this.#observer?.ended(record.call, outcome, durationMs / 1000);', ''],
  [
    'logging/json-lines.js',
    'if (context.traceId !== undefined)\n                head += `,"trace_id":${name(context.traceId)}`;',
    '',
  ],
  [
    'logging/json-lines.js',
    "key === 'correlation_id' ? context?.correlationId : key === 'trace_id' ? context?.traceId : undefined",
    "key === 'correlation_id' ? context?.correlationId : undefined",
  ],
];

/**
 * Makes a copy; its server takes the arguments of `servers/mcp-corp.mjs`.
 *
 * @param {'same' | 'untraced'} kind
 * @returns {string} path of the server
 */
export function makeCopy(kind) {
  const folder = path.join(COPIES, kind);
  cpSync(path.join(ROOT, 'dist'), path.join(folder, 'dist'), { recursive: true });
  for (const [file, hook, without] of kind === 'same' ? [] : HOOKS) {
    const place = path.join(folder, 'dist', file);
    const text = readFileSync(place, 'utf8');
    if (text.split(hook).length !== 2)
      throw new Error(`bench/untraced.mjs: in ${file} there is no longer one: ${hook}`);
    writeFileSync(
      place,
      text.replace(hook, () => without),
    );
  }
  cpSync(path.join(ROOT, 'package.json'), path.join(folder, 'package.json'));
  mkdirSync(path.join(folder, 'bench/servers'), { recursive: true });
  for (const file of ['servers/mcp-corp.mjs', 'workload.mjs'])
    cpSync(path.join(ROOT, 'bench', file), path.join(folder, 'bench', file));
  return path.join(folder, 'bench/servers/mcp-corp.mjs');
}

export function removeCopies() {
  rmSync(COPIES, { recursive: true, force: true });
}
