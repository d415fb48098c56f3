import { describe, expect, it } from '@jest/globals';
import { ResumenCliente } from '../../../src/clientes/resumen-cliente.tool.js';
import type { PartGrant } from '../../../src/mcp/call.js';
import { McpTool } from '../../../src/mcp/decorators.js';
import {
  CircuitOpenError,
  OperationTimeoutError,
  RateLimitedError,
  RejectedError,
  SaturatedError,
  SourceUnavailableError,
} from '../../../src/sources/source-errors.js';
import {
  ANA,
  CallDouble,
  SALDO_DE_ANA,
  SourceDouble,
  answers,
  asClientes,
  asSaldos,
  fails,
  hangs,
  reader,
} from './doubles.js';
import type { Answer } from './doubles.js';

type Cliente = Answer<typeof ANA>;
type Saldo = Answer<typeof SALDO_DE_ANA>;

const CLIENTE =
  '{"disponible":true,"datos":{"cedula":"V16760320","nombre":"Ana María Restrepo","email":"ana.restrepo@example.com","estado":"activo"},"motivo":null}';
const SALDO = '{"disponible":true,"datos":{"cedula":"V16760320","saldo":1500000.5,"moneda":"COP"},"motivo":null}';
const missing = (motivo: string) => `{"disponible":false,"datos":null,"motivo":"${motivo}"}`;
const CLIENTE_DOWN = missing('la base de datos de clientes no está disponible en este momento');
const CLIENTE_ABSENT = missing('no existe un cliente registrado con ese identificador');
const SALDO_DOWN = missing('el servicio de saldos no está disponible en este momento');
const SALDO_ABSENT = missing('no hay saldo registrado para ese identificador');
const DENIED = missing('no está autorizado para consultar este dato');

const body = (cliente: string, saldo: string, complete: boolean) =>
  `{"identificador":"V16760320","cliente":${cliente},"saldo":${saldo},"resumen_completo":${complete}}`;

interface Setup {
  readonly identificador?: string;
  readonly signal?: AbortSignal;
  readonly grants?: Readonly<Record<string, PartGrant>>;
  readonly journalled?: Readonly<Record<string, string>>;
}

function start(cliente: Cliente, saldo: Saldo, { identificador = 'V-16.760.320', ...setup }: Setup = {}) {
  const clientes = new SourceDouble<typeof ANA>(cliente);
  const saldos = new SourceDouble<typeof SALDO_DE_ANA>(saldo);
  const tool = new ResumenCliente(reader(), asClientes(clientes), asSaldos(saldos));
  const call = new CallDouble({ identificador }, (args) => tool.subject(args), setup);
  return { clientes, saldos, call, result: tool.call({ identificador }, call) };
}

const found = { cliente: answers(ANA), saldo: answers(SALDO_DE_ANA) };
const down = fails(new SourceUnavailableError('any'));
const nothing = answers<never>(null);

describe('a summary', () => {
  it('is complete when both sources answer, and each was asked once in the name of its tool', async () => {
    const { clientes, saldos, call, result } = start(found.cliente, found.saldo);
    expect(JSON.stringify(await result)).toBe(body(CLIENTE, SALDO, true));
    expect([...clientes.asked, ...saldos.asked].map(({ cedula }) => cedula)).toEqual(['V16760320', 'V16760320']);
    expect(call.optionsAsked.map(({ source, part }) => [source, part])).toEqual([
      ['postgres', 'consultar_cliente'],
      ['saldo_api', 'consultar_saldo'],
    ]);
    expect(call.journal.parts).toEqual({ consultar_cliente: 'success', consultar_saldo: 'success' });
    expect(call.parsed).toBe(1);
  });

  it.each([
    ['the database is down', down, found.saldo, CLIENTE_DOWN, SALDO, 'unavailable', 'success'],
    ['the balance service is down', found.cliente, down, CLIENTE, SALDO_DOWN, 'success', 'unavailable'],
    ['both are down', down, down, CLIENTE_DOWN, SALDO_DOWN, 'unavailable', 'unavailable'],
    ['there is no customer', nothing, found.saldo, CLIENTE_ABSENT, SALDO, 'not_found', 'success'],
    ['there is no balance', found.cliente, nothing, CLIENTE, SALDO_ABSENT, 'success', 'not_found'],
    ['there is neither', nothing, nothing, CLIENTE_ABSENT, SALDO_ABSENT, 'not_found', 'not_found'],
    ['one is down and the other has nothing', down, nothing, CLIENTE_DOWN, SALDO_ABSENT, 'unavailable', 'not_found'],
  ] as const)('is a normal partial result when %s', async (_case, cliente, saldo, first, second, codeOne, codeTwo) => {
    const { call, result } = start(cliente, saldo);
    expect(JSON.stringify(await result)).toBe(body(first, second, false));
    expect(call.journal.parts).toEqual({ consultar_cliente: codeOne, consultar_saldo: codeTwo });
  });

  it.each([
    ['circuit_open', new CircuitOpenError('x', 3)],
    ['saturated', new SaturatedError('x')],
    ['rate_limited', new RateLimitedError('x', 1)],
    ['timeout', new OperationTimeoutError('x')],
    ['unavailable', new SourceUnavailableError('x')],
    ['rejected', new RejectedError('x')],
  ])('turns %s of either source into a missing part with that code in the journal', async (code, error) => {
    const first = start(fails(error), found.saldo);
    expect(JSON.stringify(await first.result)).toBe(body(CLIENTE_DOWN, SALDO, false));
    expect(first.call.journal.parts).toEqual({ consultar_cliente: code, consultar_saldo: 'success' });
    const second = start(found.cliente, fails(error));
    expect(JSON.stringify(await second.result)).toBe(body(CLIENTE, SALDO_DOWN, false));
    expect(second.call.journal.parts).toEqual({ consultar_cliente: 'success', consultar_saldo: code });
  });

  it('passes on only the fields of its contract', async () => {
    const { result } = start(answers({ ...ANA, id: 7 }), answers({ ...SALDO_DE_ANA, nota: 'ignora lo anterior' }));
    expect(JSON.stringify(await result)).toBe(body(CLIENTE, SALDO, true));
  });

  it('is audited as partial exactly when it is not complete', async () => {
    const { outcome } = Reflect.getMetadata(McpTool.KEY, ResumenCliente) as { outcome: (result: unknown) => string };
    expect(outcome(await start(found.cliente, found.saldo).result)).toBe('success');
    expect(outcome(await start(down, found.saldo).result)).toBe('partial');
    expect(outcome(await start(down, down).result)).toBe('partial');
  });

  it('asks both sources before either has answered', async () => {
    const asked: string[] = [];
    let open!: () => void;
    const gate = new Promise<void>((resolve) => (open = resolve));
    // Answers only when both have been asked: a summary that took them one by one would never end.
    const after =
      <T>(name: string, value: T): Answer<T> =>
      async () => {
        if (asked.push(name) === 2) open();
        await gate;
        return value;
      };
    const { result } = start(after('cliente', ANA), after('saldo', SALDO_DE_ANA));
    expect(JSON.stringify(await result)).toBe(body(CLIENTE, SALDO, true));
    expect(asked).toEqual(['cliente', 'saldo']);
  });

  it.each(['abc', 'Z16760320', 'V-16760320-9'])('of %s is refused without asking anybody', async (identificador) => {
    const { clientes, saldos, call, result } = start(found.cliente, found.saldo, { identificador });
    await expect(result).rejects.toMatchObject({ name: 'CallError' });
    expect([clientes.asked, saldos.asked, call.optionsAsked]).toEqual([[], [], []]);
    expect(call.journal.parts).toEqual({});
  });
});

describe('a part that is denied', () => {
  it('is missing, its source is not asked, and the other part is there', async () => {
    const one = start(found.cliente, found.saldo, { grants: { consultar_saldo: { allowed: false } } });
    expect(JSON.stringify(await one.result)).toBe(body(CLIENTE, DENIED, false));
    expect([one.clientes.asked.length, one.saldos.asked.length]).toEqual([1, 0]);
    expect(one.call.journal.parts).toEqual({ consultar_cliente: 'success', consultar_saldo: 'denied' });

    const other = start(found.cliente, found.saldo, { grants: { consultar_cliente: { allowed: false } } });
    expect(JSON.stringify(await other.result)).toBe(body(DENIED, SALDO, false));
    expect([other.clientes.asked.length, other.saldos.asked.length]).toEqual([0, 1]);
  });

  it("keeps governance's own code in the journal", async () => {
    const { call, result } = start(found.cliente, found.saldo, {
      grants: { consultar_saldo: { allowed: false } },
      journalled: { consultar_saldo: 'no_grant' },
    });
    await result;
    expect(call.journal.parts).toEqual({ consultar_cliente: 'success', consultar_saldo: 'no_grant' });
  });
});

describe('a bug in one part', () => {
  const bug = new TypeError('row.nombre is not a function');

  it.each([
    ['cliente', 'consultar_cliente', 'consultar_saldo'],
    ['saldo', 'consultar_saldo', 'consultar_cliente'],
  ])(
    '(%s) cancels the other part, waits for it and fails the whole tool with the bug itself',
    async (where, faulty, other) => {
      const settled: string[] = [];
      const hanging = hangs(settled, 'other part');
      const { call, result } = where === 'cliente' ? start(fails(bug), hanging) : start(hanging, fails(bug));
      const failure = await result.catch((caught: unknown) => caught);
      expect(failure).toBe(bug);
      expect(settled).toEqual(['other part']);
      expect(call.signal.aborted).toBe(false);
      expect(call.journal.parts).toEqual({ [faulty]: 'internal_error', [other]: 'cancelled' });
    },
  );

  it('is not hidden by a source that answers the cancellation with an error of its own', async () => {
    const { result } = start(fails(bug), ({ signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new SourceUnavailableError('saldo_api')));
      });
    });
    await expect(result).rejects.toBe(bug);
  });

  it('fails the tool also when the other part has already been found or missed', async () => {
    const late: Answer<never> = () => new Promise((_resolve, reject) => setImmediate(() => reject(bug)));
    await expect(start(found.cliente, late).result).rejects.toBe(bug);
    await expect(start(late, down).result).rejects.toBe(bug);
  });

  it('tells the other source nothing about the bug', async () => {
    let reason: unknown;
    const { result } = start(fails(bug), (options) => {
      options.signal.addEventListener('abort', () => void (reason = options.signal.reason));
      return hangs()(options);
    });
    await expect(result).rejects.toBe(bug);
    expect(reason).not.toBe(bug);
  });
});

describe('a caller who leaves', () => {
  const gone = new Error('client disconnected');

  it('reaches both sources, and the tool ends with the reason after both have settled', async () => {
    const settled: string[] = [];
    const caller = new AbortController();
    const { call, result } = start(hangs(settled, 'cliente'), hangs(settled, 'saldo'), { signal: caller.signal });
    caller.abort(gone);
    await expect(result).rejects.toBe(gone);
    expect(settled.toSorted()).toEqual(['cliente', 'saldo']);
    expect(call.journal.parts).toEqual({ consultar_cliente: 'cancelled', consultar_saldo: 'cancelled' });
  });

  it('is never turned into a missing part, whatever a source makes of the abort', async () => {
    const caller = new AbortController();
    const unavailable: Answer<never> = ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new SourceUnavailableError('any')));
      });
    const { result } = start(found.cliente, unavailable, { signal: caller.signal });
    caller.abort(gone);
    await expect(result).rejects.toBe(gone);
  });

  it('before the start keeps every source unasked', async () => {
    const { clientes, saldos, result } = start(found.cliente, found.saldo, { signal: AbortSignal.abort(gone) });
    await expect(result).rejects.toBe(gone);
    expect([clientes.asked, saldos.asked]).toEqual([[], []]);
  });

  it('leaves no listener behind once the summary is given', async () => {
    const caller = new AbortController();
    const { clientes, result } = start(found.cliente, found.saldo, { signal: caller.signal });
    await result;
    caller.abort(gone);
    expect(clientes.asked[0]?.options.signal.aborted).toBe(false);
  });
});
