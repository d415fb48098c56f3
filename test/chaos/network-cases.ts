import { NameServer } from '../support/name-server.js';
import { until } from '../support/until.js';
import { type Code } from './calls.js';
import { type ChaosCase } from './law.js';
import { OTHER, type Source, type SourceName } from './stage.js';

const DOWN: readonly Code[] = ['unavailable', 'timeout', 'circuit_open', 'saturated'];

const PHASES = ['start', 'idle', 'running'] as const;

/** What the network can do to any source, whatever it speaks. */
export function networkCases(name: SourceName): ChaosCase[] {
  const pass = async (stage: Record<SourceName, Source>) => stage[name].proxy.set('pass');
  /** The short form has one phase of a fault, of one source. */
  const brief = (phase: ChaosCase['phase'], of: SourceName) => (chaos: ChaosCase) => ({
    ...chaos,
    brief: chaos.phase === phase && name === of,
  });
  const over = (
    fault: string,
    phases: readonly ChaosCase['phase'][],
    begin: (source: Source) => Promise<void>,
    more: Partial<ChaosCase> = {},
  ): ChaosCase[] =>
    phases.map((phase) => ({
      name: fault,
      phase,
      codes: DOWN,
      begin: (stage) => begin(stage[name]),
      end: pass,
      ...more,
    }));
  return [
    ...over('refuse', PHASES, async ({ proxy }) => {
      // A host whose server has died: open connections are reset, new ones refused.
      await proxy.set('reset');
      await proxy.set('refuse');
    }),
    ...over('black hole', PHASES, ({ proxy }) => proxy.set('blackhole')).map(brief('start', 'saldo_api')),
    ...over('reset', PHASES, ({ proxy }) => proxy.set('reset')).map(brief('running', 'postgres')),
    ...over('half-open: the far side is gone without a word', ['idle'], ({ proxy }) => proxy.set('halfOpen')),
    ...over('slow drip: a byte of the answer every 100 ms', ['idle'], ({ proxy }) =>
      proxy.set({ mode: 'slowDrip', intervalMs: 100 }),
    ),
    ...over(
      'reset in the middle of an answer',
      ['idle'],
      ({ proxy }) => proxy.set({ mode: 'resetMidway', bytes: 20 }),
      // Once those bytes are used up, every answer is cut at its first byte.
      {},
    ),
    ...tlsCases(name),
    ...nameCases(name),
  ];
}

function tlsCases(name: SourceName): ChaosCase[] {
  const tls = (fault: string, phase: ChaosCase['phase'], begin: ChaosCase['begin']): ChaosCase => ({
    name: `bad TLS: ${fault}`,
    phase,
    codes: DOWN,
    prepare: async (stage) => ({ env: stage[name].through({ host: 'localhost', tls: true }) }),
    begin,
    end: async (stage) => stage[name].proxy.set('pass'),
  });
  return [
    tls('a certificate of an unknown authority', 'start', (stage) =>
      stage[name].proxy.set({ mode: 'badTls', identity: stage.stranger }),
    ),
    tls('a certificate of an unknown authority', 'idle', (stage) =>
      stage[name].proxy.set({ mode: 'badTls', identity: stage.stranger }),
    ),
    tls('bytes that are no TLS', 'idle', (stage) => stage[name].proxy.set({ mode: 'badTls' })),
    tls('a handshake that never goes on', 'start', (stage) => stage[name].proxy.set('blackhole')),
  ];
}

const HOSTS: Readonly<Record<SourceName, string>> = { postgres: 'base.prueba', saldo_api: 'saldos.prueba' };

function nameCases(name: SourceName): ChaosCase[] {
  let dns: NameServer;
  const prepare: ChaosCase['prepare'] = async (stage) => {
    dns = await NameServer.start();
    const other = OTHER[name];
    return {
      env: { ...stage[name].through({ host: HOSTS[name] }), ...stage[other].direct(HOSTS[other]) },
      launcher: dns.launcher,
      close: async () => dns.close(),
    };
  };
  const end = async (): Promise<void> => dns.speak();
  return [
    {
      name: 'DNS that stops answering for this source',
      phase: 'start',
      brief: name === 'postgres',
      codes: DOWN,
      prepare,
      begin: async () => dns.silence(HOSTS[name]),
      end,
    },
    {
      name: 'DNS that stops answering for this source: the last good address goes on',
      phase: 'idle',
      codes: ['ok'],
      prepare,
      async begin(stage, server) {
        dns.silence(HOSTS[name]);
        // An answer counts as fresh for a few seconds; from here on every connection needs a name that nobody resolves.
        const { proxy } = stage[name];
        await until(async () => {
          await proxy.set('reset');
          await proxy.set('pass');
          await fetch(`${server?.url}/diagnostics`); // asks the source, over a new connection
          return dns.unanswered > 0;
        }, 10_000);
      },
      end,
      afterwards: async () => {
        if (dns.unanswered === 0) throw new Error('nobody asked for the name');
      },
    },
  ];
}
