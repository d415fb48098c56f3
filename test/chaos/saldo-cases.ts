import { startHttpServer, type TestServer } from '../support/http-server.js';
import { type Code } from './calls.js';
import { type ChaosCase } from './law.js';
import { type Stage } from './stage.js';

const DOWN: readonly Code[] = ['unavailable', 'timeout', 'circuit_open', 'saturated'];

type Fault = NonNullable<Parameters<Stage['saldo_api']['stub']['setFault']>[0]>;

/** What an HTTP API can answer instead of an answer. */
export function saldoCases(): ChaosCase[] {
  const answers = (name: string, fault: Fault, more: Partial<ChaosCase> = {}): ChaosCase => ({
    name,
    phase: 'idle',
    codes: DOWN,
    begin: async ({ saldo_api: { stub } }) => stub.setFault(fault),
    end: async ({ saldo_api: { stub } }) => stub.setFault(undefined),
    ...more,
  });
  return [
    answers('a body that never ends', { kind: 'endless_body' }, { brief: true }),
    answers('a body that never ends, byte by byte', { kind: 'dripping_body' }, { sees: ['timeout'] }),
    answers('a body of 50 MB', { kind: 'large_body', bytes: 50_000_000 }, { brief: true, sees: ['unavailable'] }),
    answers('silence', { kind: 'silence' }, { sees: ['timeout'] }),
    answers('a closed connection without a byte', { kind: 'drop' }, { sees: ['unavailable'] }),
    answers('JSON that ends too early', { kind: 'bad_json' }, { sees: ['unavailable'] }),
    answers("somebody else's balance", { kind: 'wrong_cedula' }, { sees: ['unavailable'] }),
    answers('500', { kind: 'status', status: 500 }, { sees: ['unavailable'] }),
    answers(
      '429 with Retry-After: 2',
      { kind: 'too_many_requests', retryAfter: '2' },
      { brief: true, codes: ['rate_limited'] },
    ),
    answers('401', { kind: 'status', status: 401 }, { codes: ['rejected'] }),
    redirect(),
  ];
}

/** Nobody may follow it: the identifier is in the path. */
function redirect(): ChaosCase {
  let trap: TestServer;
  return {
    name: 'a redirect',
    phase: 'idle',
    brief: true,
    codes: ['rejected'],
    async prepare() {
      trap = await startHttpServer((_request, response) => response.end('{}'));
      return { close: () => trap.close() };
    },
    begin: async ({ saldo_api: { stub } }) => stub.setFault({ kind: 'redirect', location: `${trap.url}/saldos` }),
    end: async ({ saldo_api: { stub } }) => stub.setFault(undefined),
    afterwards: async () => {
      if (trap.connections > 0) throw new Error('the redirect was followed');
    },
  };
}
