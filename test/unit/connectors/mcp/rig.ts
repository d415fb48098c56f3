import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endpointOf, type UpstreamTransport } from '../../../../src/connectors/mcp/endpoint.js';
import { McpConnector } from '../../../../src/connectors/mcp/mcp-connector.js';
import { type ToolOutcome, type ToolResult, type UpstreamLease } from '../../../../src/connectors/mcp/tool-call.js';
import { systemClock } from '../../../../src/resilience/clock.js';
import { ResilientExecutor } from '../../../../src/resilience/executor.js';
import { RecordedLog } from '../support/recorded-log.js';

export const CHILD = new URL('../../../support/upstreams/child.mjs', import.meta.url).pathname;

export const childTransport = (options: object = {}): UpstreamTransport => ({
  ...{ kind: 'mcp-stdio', command: process.execPath, args: [CHILD, JSON.stringify(options)] },
});

export interface RigOptions {
  readonly operationTimeoutMs?: number;
  readonly maxBytes?: number;
  readonly maxSessions?: number;
  readonly idleMs?: number;
  readonly verifyMs?: number;
  readonly maxConcurrency?: number;
}

export interface Rig {
  readonly executor: ResilientExecutor<UpstreamLease>;
  readonly connector: McpConnector;
  readonly log: RecordedLog;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolOutcome>;
  /** The result; throws when the definition has changed. */
  result(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
  close(): Promise<void>;
}

export interface CallOptions {
  readonly account?: string;
  readonly secret?: string;
  readonly epoch?: string;
  readonly pin?: string;
  readonly signal?: AbortSignal;
}

export function rig(transport: UpstreamTransport, options: RigOptions = {}): Rig {
  const log = new RecordedLog();
  const { maxConcurrency = 4, maxBytes = 65_536 } = options;
  const endpoint = endpointOf({
    ...{ transport, maxConcurrency, maxBytes, clock: systemClock, path: process.env['PATH'], probeMs: 3_000 },
    client: { name: 'mcp-corp', version: '0' },
  });
  const connector = new McpConnector({
    ...{ name: 'proveedor', endpoint, log, openMs: 10_000 },
    ...{
      maxSessions: options.maxSessions ?? 8,
      idleMs: options.idleMs ?? 60_000,
      verifyMs: options.verifyMs ?? 60_000,
    },
  });
  const executor = new ResilientExecutor({
    connector,
    log,
    settings: {
      ...{ maxConcurrency, maxQueue: 40, acquireTimeoutMs: 2_000 },
      ...{ operationTimeoutMs: options.operationTimeoutMs ?? 10_000, callDeadlineMs: 20_000, cancelGraceMs: 500 },
      ...{ failureThreshold: 5, resetTimeoutMs: 30_000, successThreshold: 2 },
      ...{ rateLimitPerSecond: undefined, rateLimitBurst: 1 },
    },
  });
  const call = (name: string, args: Record<string, unknown> = {}, sent: CallOptions = {}): Promise<ToolOutcome> => {
    const {
      account = 'cuenta',
      secret = 'secreto-1',
      epoch = secret,
      pin,
      signal = new AbortController().signal,
    } = sent;
    const tool = { name, arguments: args, ...(pin !== undefined && { pin }) };
    const run = { signal, account: { key: account, secret: { epoch, secret } } };
    return executor.run((lease, own) => lease.call(tool, own), run);
  };
  return {
    ...{ executor, connector, log, call },
    result: async (...sent) => {
      const outcome = await call(...sent);
      if (outcome.kind === 'changed') throw new Error('changed');
      return outcome.result;
    },
    close: async () => {
      await executor.close();
      await connector.close();
    },
  };
}

export const structured = ({ structuredContent }: ToolResult): Record<string, unknown> =>
  structuredContent as Record<string, unknown>;

/** A file in which children note their process ids. */
export function pidFile(): { readonly path: string; alive(): number[]; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'hijos-'));
  const path = join(folder, 'pids');
  return {
    path,
    alive: () =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => /^\d+$/.test(line))
        .map(Number)
        .filter((pid) => isAlive(pid)),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    // A zombie that its parent has not looked at yet is gone all the same.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
