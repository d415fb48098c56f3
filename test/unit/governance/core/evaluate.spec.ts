import { describe, expect, it } from '@jest/globals';
import {
  accountId,
  buildRuleset,
  ceiling,
  decideCall,
  entryOf,
  evaluate,
  exhausted,
  NOT_CONSULTED,
  settle,
  visible,
  windowMs,
  type Allow,
  type CallsCharge,
  type Count,
  type Decision,
  type Grant,
  type PolicyDocument,
  type Question,
  type SubjectFact,
  type UsageFact,
} from '../../../../src/governance/core/index.js';
import { example, policyOf, principalOf, withGrants } from './artefacts.js';

const HOUR = 3_600_000;
const ANA = { unidad: 'norte', cedula: 'V-16.760.320' };
const is = (canonical: string): SubjectFact => ({ kind: 'is', canonical });

function decide(
  document: PolicyDocument,
  asked: Partial<Question> & { attributes?: Record<string, string> } = {},
): Decision {
  const policy = policyOf(document);
  return evaluate(policy.ruleset, {
    principal: principalOf(policy, 'agentes', 'ana', asked.attributes ?? ANA),
    capability: 'cliente.leer',
    subject: NOT_CONSULTED,
    at: 0,
    usage: NOT_CONSULTED,
    ...asked,
  });
}

function allowed(document: PolicyDocument, asked: Parameters<typeof decide>[1] = {}): Allow {
  const decision = decide(document, asked);
  if (decision.outcome === 'deny') throw new Error(decision.reason.code);
  return decision;
}

const counted = (count: Count): UsageFact => ({ kind: 'counted', of: () => count });

describe('the rules of a decision', () => {
  it('denies a capability that nobody declared, and points at the declarations', () => {
    expect(decide(example(), { capability: 'toString' })).toEqual({
      outcome: 'deny',
      reason: { code: 'capability_not_declared', path: '/capabilities', about: 'toString' },
    });
  });

  it('denies a capability with nothing real behind it, and points at it', () => {
    const document = example((draft) => {
      draft.capabilities = [...draft.capabilities, { id: 'ticket.crear' }];
    });
    expect(decide(document, { capability: 'ticket.crear' }).reason).toEqual({
      code: 'capability_not_realized',
      path: '/capabilities/4',
      about: 'ticket.crear',
    });
  });

  it('denies what no grant gives, and points at the grants', () => {
    expect(decide(example(), { capability: 'saldo.leer' }).reason).toEqual({
      code: 'no_grant_matches',
      path: '/grants',
      about: 'saldo.leer',
    });
  });

  it('takes a missing attribute for one that differs', () => {
    const document = withGrants({ to: { issuer: 'agentes', attributes: { unidad: 'norte' } } });
    expect(decide(document).outcome).toBe('allow');
    expect(decide(document, { attributes: {} }).reason.code).toBe('no_grant_matches');
  });

  it('denies with a disabled account, even one that only some matching grant names', () => {
    const document = example((draft) => {
      draft.accounts = draft.accounts.map((account) => ({ ...account, disabled: account.id === 'lector' }));
    });
    expect(decide(document).reason).toEqual({ code: 'account_disabled', path: '/grants/0', about: 'lector' });
  });

  it('denies when a ruleset that no compiler made names two accounts', () => {
    const grant = (path: string, account: string): Grant => ({
      path,
      to: { issuer: 'agentes', attributes: new Map() },
      capabilities: new Set(['c']),
      account: { id: accountId(account), disabled: false },
      omit: [],
    });
    const ruleset = buildRuleset([{ id: 'c', path: '/capabilities/0' }], new Set(['c']), [
      grant('/grants/0', 'a'),
      grant('/grants/1', 'b'),
    ]);
    const principal = principalOf(policyOf(example()), 'agentes', 'ana');
    const decision = evaluate(ruleset, {
      principal,
      capability: 'c',
      subject: NOT_CONSULTED,
      at: 0,
      usage: NOT_CONSULTED,
    });
    expect(decision.reason).toEqual({ code: 'ambiguous_grant', path: '/grants/0', about: 'c' });
  });

  it('has no place for an account or a ceiling in a denial', () => {
    const denial = decide(example(), { capability: 'saldo.leer' });
    expect(Object.keys(denial).sort()).toEqual(['outcome', 'reason']);
  });
});

describe('ceilings', () => {
  const limited = (...limits: readonly { calls: number; per: string }[]): PolicyDocument =>
    withGrants(...limits.map((limit) => ({ limits: limit })));

  it('denies at the ceiling, not one call before it', () => {
    const document = limited({ calls: 3, per: '1h' });
    expect(decide(document, { at: 10, usage: counted({ used: 2, windowStart: 0 }) }).outcome).toBe('allow');
    expect(decide(document, { at: 10, usage: counted({ used: 3, windowStart: 0 }) }).reason).toEqual({
      code: 'limit_exhausted',
      path: '/grants/0',
      about: 'cliente.leer',
    });
  });

  it('allows again from the very millisecond in which the window ends', () => {
    const document = limited({ calls: 3, per: '1h' });
    const usage = counted({ used: 3, windowStart: 1_000 });
    expect(decide(document, { at: 1_000 + HOUR - 1, usage }).outcome).toBe('deny');
    expect(decide(document, { at: 1_000 + HOUR, usage }).outcome).toBe('allow');
  });

  it('enforces 10 in an hour beside 200 in a day: the eleventh within the hour is denied', () => {
    const document = limited({ calls: 200, per: '24h' }, { calls: 10, per: '1h' });
    expect(allowed(document).charges).toHaveLength(2);
    const usage: UsageFact = { kind: 'counted', of: () => ({ used: 10, windowStart: 0 }) };
    expect(decide(document, { at: 10, usage }).reason).toEqual({
      code: 'limit_exhausted',
      path: '/grants/1',
      about: 'cliente.leer',
    });
    // And the other way round: the hour has room, the day has none.
    const day: UsageFact = { kind: 'counted', of: ({ limit }) => ({ used: limit === 200 ? 200 : 0, windowStart: 0 }) };
    expect(decide(document, { at: 10, usage: day }).reason).toMatchObject({
      code: 'limit_exhausted',
      path: '/grants/0',
    });
  });

  it('enforces a ceiling beside a grant without one', () => {
    expect(allowed(withGrants({}, { limits: { calls: 1, per: '1h' } })).charges).toHaveLength(1);
  });

  it('explains an allow by the grant that limits it most', () => {
    expect(
      allowed(limited({ calls: 10, per: '1h' }, { calls: 200, per: '24h' }, { calls: 900, per: '1h' })).reason.path,
    ).toBe('/grants/1');
    expect(allowed(limited({ calls: 24, per: '24h' }, { calls: 1, per: '1h' })).reason.path).toBe('/grants/1');
  });

  it('hides what a ceiling of zero suspends, in lists too', () => {
    const policy = policyOf(limited({ calls: 0, per: '1h' }));
    expect(visible(policy, principalOf(policy, 'agentes', 'ana', ANA), 0).capabilities.size).toBe(0);
    expect(decide(limited({ calls: 0, per: '1h' })).reason.code).toBe('limit_exhausted');
  });

  it('takes an unknown count for an exhausted one, but only under a ceiling', () => {
    const usage = { kind: 'unknown' } as const;
    expect(decide(limited({ calls: 3, per: '1h' }), { usage }).reason).toEqual({
      code: 'usage_unknown',
      path: '/grants/0',
      about: 'lector',
    });
    expect(decide(withGrants({}), { usage }).outcome).toBe('allow');
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('takes a count of %p for an exhausted one', (used) => {
    expect(decide(limited({ calls: 3, per: '1h' }), { usage: counted({ used, windowStart: 0 }) }).outcome).toBe('deny');
  });

  it('keeps a window open when the clock runs backwards', () => {
    expect(
      decide(limited({ calls: 3, per: '1h' }), { at: 0, usage: counted({ used: 3, windowStart: 5_000 }) }).outcome,
    ).toBe('deny');
  });

  it('charges grants that say the same once', () => {
    expect(allowed(limited({ calls: 2, per: '60m' }, { calls: 2, per: '1h' })).charges).toHaveLength(1);
  });

  it('counts callers, capabilities and different ceilings apart', () => {
    const document = withGrants({ capabilities: ['cliente.leer', 'resumen.leer'], limits: { calls: 2, per: '1h' } });
    const policy = policyOf(document);
    const key = (subject: string, capability: string): string => {
      const principal = principalOf(policy, 'agentes', subject);
      return allowed(document, { principal, capability }).charges[0]!.key;
    };
    const keys = [
      key('ana', 'cliente.leer'),
      key('luis', 'cliente.leer'),
      key('ana', 'resumen.leer'),
      key('ana:x', 'cliente.leer'),
    ];
    expect(new Set(keys).size).toBe(4);
    const raised = withGrants({ capabilities: ['cliente.leer'], limits: { calls: 3, per: '1h' } });
    expect(keys).not.toContain(allowed(raised).charges[0]!.key);
  });

  it('keeps the counter when a grant only changes its place, its account or its omissions', () => {
    const key = (document: PolicyDocument): string => allowed(document).charges[0]!.key;
    const limits = { calls: 2, per: '1h' };
    const first = key(withGrants({ limits }));
    expect(key(withGrants({ to: { issuer: 'nocturno' } }, { limits, using: 'cajero', omit: ['email'] }))).toBe(first);
  });

  it.each([
    ['30s', 30_000],
    ['15m', 900_000],
    ['1h', HOUR],
    ['7d', 604_800_000],
    ['99999999d', 8_639_999_913_600_000],
  ])('reads the window %s as %d ms', (per, expected) => {
    expect(windowMs(per)).toBe(expected);
    expect(Number.isSafeInteger(windowMs(per))).toBe(true);
  });

  it.each(['', '1', 'h', '0h', '-1h', '1.5h', '1w'])('refuses %p as a window', (per) => {
    expect(() => windowMs(per)).toThrow(RangeError);
  });
});

describe('settling what the usage store answered', () => {
  const document = withGrants(
    { limits: { calls: 5, per: '1h' } },
    { limits: { calls: 9, per: '1d' }, distinctSubjects: { count: 2, per: '1d' } },
  );
  const decision = allowed(document, { subject: is('V16760320') });

  it('points at the grant whose ceiling had no room', () => {
    for (const charge of decision.charges) {
      const code = charge.kind === 'calls' ? 'limit_exhausted' : 'distinct_subjects_exhausted';
      expect(settle(decision, { kind: 'exhausted', key: charge.key }).reason).toEqual({
        code,
        path: charge.path,
        about: 'cliente.leer',
      });
    }
  });

  it('denies when the store is down, or answers about a counter that was not asked for', () => {
    expect(settle(decision, { kind: 'unknown' }).reason.code).toBe('usage_unknown');
    expect(settle(decision, { kind: 'exhausted', key: 'another' }).reason.code).toBe('usage_unknown');
  });

  it('leaves the allow as it is once everything is consumed', () => {
    expect(settle(decision, { kind: 'consumed' })).toBe(decision);
  });
});

describe('whose data', () => {
  const bound = withGrants({ subject: { equals: 'cedula' } });

  it('allows only the subject that the attribute names, in canonical form', () => {
    expect(decide(bound, { subject: is('V16760320') }).outcome).toBe('allow');
    expect(decide(bound, { subject: is('V1') }).reason).toEqual({
      code: 'subject_not_allowed',
      path: '/grants/0',
      about: 'cliente.leer',
    });
  });

  it.each<SubjectFact>([{ kind: 'none' }, { kind: 'unreadable' }])(
    'denies a bound call whose subject is $kind',
    (subject) => {
      expect(decide(bound, { subject }).reason.code).toBe('subject_not_allowed');
    },
  );

  it.each<Record<string, string>>([{}, { cedula: 'no es una' }])(
    'hides and denies it to a principal without a usable attribute: %p',
    (attributes) => {
      expect(decide(bound, { attributes }).reason.code).toBe('subject_attribute_missing');
      expect(decide(bound, { attributes, subject: is('V1') }).reason.code).toBe('subject_attribute_missing');
    },
  );

  it('shows a bound capability in a list, and says that it is bound', () => {
    expect(allowed(bound).subjectEquals).toEqual(['cedula']);
  });

  it('lets an unbound grant open what a bound one does not, without the terms of the bound one', () => {
    const both = withGrants(
      { subject: { equals: 'cedula' }, limits: { calls: 1, per: '1h' }, omit: ['email'] },
      { to: { issuer: 'agentes', attributes: { unidad: 'norte' } } },
    );
    expect(allowed(both, { subject: is('V9') })).toMatchObject({
      grants: ['/grants/1'],
      charges: [],
      omit: [],
      subjectEquals: [],
    });
    expect(allowed(both, { subject: is('V16760320') })).toMatchObject({
      grants: ['/grants/0', '/grants/1'],
      omit: ['email'],
    });
  });

  it("lists what is open about others though the grant for one's own data is suspended", () => {
    const document = withGrants({ subject: { equals: 'cedula' }, limits: { calls: 0, per: '1h' } }, {});
    expect(allowed(document).grants).toEqual(['/grants/1']);
    expect(decide(document, { subject: is('V9') }).outcome).toBe('allow');
    expect(decide(document, { subject: is('V16760320') }).reason.code).toBe('limit_exhausted');
  });

  it('never writes the subject into a reason', () => {
    for (const subject of [is('V16760320'), is('V424242')]) {
      const { reason } = decide(bound, { subject });
      expect(JSON.stringify(reason)).not.toMatch(/V16760320|V424242/);
    }
  });
});

describe('how many different subjects', () => {
  const capped = withGrants({
    capabilities: ['cliente.leer', 'resumen.leer'],
    distinctSubjects: { count: 2, per: '1d' },
  });

  it('charges the subject, once for all capabilities of the grant', () => {
    const [first] = allowed(capped, { subject: is('V1') }).charges;
    const [second] = allowed(capped, { subject: is('V1'), capability: 'resumen.leer' }).charges;
    expect(first).toMatchObject({ kind: 'subjects', subject: 'V1', limit: 2, windowMs: 24 * HOUR });
    expect(second?.key).toBe(first?.key);
  });

  it('denies a new subject when the window is full, and still serves one that was counted', () => {
    const full = { used: 2, windowStart: 0 };
    expect(decide(capped, { at: 10, subject: is('V3'), usage: counted(full) }).reason.code).toBe(
      'distinct_subjects_exhausted',
    );
    expect(
      decide(capped, { at: 10, subject: is('V1'), usage: counted({ ...full, subjectCounted: true }) }).outcome,
    ).toBe('allow');
  });

  it('forgets the counted subjects with the window', () => {
    const usage = counted({ used: 2, windowStart: 0, subjectCounted: true });
    const [charge] = allowed(capped, { subject: is('V1') }).charges;
    expect(exhausted(charge!, { used: 2, windowStart: 0 }, 24 * HOUR)).toBe(false);
    expect(decide(capped, { at: 24 * HOUR, subject: is('V1'), usage }).outcome).toBe('allow');
  });

  it('has nothing to count where a call is about nobody', () => {
    expect(allowed(capped, { subject: { kind: 'none' } }).charges).toEqual([]);
  });

  it('suspends the grant with a count of zero', () => {
    const none = withGrants({ distinctSubjects: { count: 0, per: '1d' } });
    for (const subject of [NOT_CONSULTED, is('V1'), { kind: 'none' } as const])
      expect(decide(none, { subject }).reason.code).toBe('distinct_subjects_exhausted');
  });
});

describe('a composite', () => {
  const local = [
    { kind: 'tool', name: 'consultar_cliente' },
    { kind: 'tool', name: 'consultar_saldo' },
    { kind: 'tool', name: 'resumen_cliente', parts: ['consultar_cliente', 'consultar_saldo'] },
    { kind: 'resource', name: 'Estados', uri: 'data://clientes/estados' },
    { kind: 'prompt', name: 'atencion_cliente' },
  ] as const;

  it('is decided once for itself and once for each part, each with its own account', () => {
    const document = example((draft) => {
      draft.grants = [...draft.grants, { to: { issuer: 'agentes' }, capabilities: ['saldo.leer'], using: 'cajero' }];
    });
    const policy = policyOf(document, { catalogue: { local } });
    const asked = { principal: principalOf(policy, 'agentes', 'ana'), subject: is('V1'), at: 0 };
    const { own, parts } = decideCall(policy, entryOf(policy, 'tool', 'resumen_cliente')!, asked);
    expect(own).toMatchObject({ outcome: 'allow', account: 'lector' });
    expect(parts.get('consultar_cliente')).toMatchObject({ outcome: 'allow', account: 'lector' });
    expect(parts.get('consultar_saldo')).toMatchObject({ outcome: 'allow', account: 'cajero' });
  });

  it('goes on without a part that is denied', () => {
    const policy = policyOf(example(), { catalogue: { local } });
    const asked = { principal: principalOf(policy, 'agentes', 'ana'), subject: is('V1'), at: 0 };
    const { own, parts } = decideCall(policy, entryOf(policy, 'tool', 'resumen_cliente')!, asked);
    expect(own.outcome).toBe('allow');
    expect(parts.get('consultar_saldo')?.reason.code).toBe('no_grant_matches');
  });

  it('decides no part of a call that is denied itself', () => {
    const policy = policyOf(example(), { catalogue: { local } });
    const asked = { principal: principalOf(policy, 'nocturno', 'lote'), subject: is('V1'), at: 0 };
    const { own, parts } = decideCall(policy, entryOf(policy, 'tool', 'resumen_cliente')!, asked);
    expect([own.outcome, parts.size]).toEqual(['deny', 0]);
  });
});

describe('the order of ceilings', () => {
  it('is not what a counter that is full depends on', () => {
    const charge: CallsCharge = { kind: 'calls', key: 'k', path: '/grants/0', ...ceiling(1, '1h') };
    expect(exhausted(charge, undefined, 0)).toBe(false);
    expect(exhausted(charge, { used: 1, windowStart: 0 }, 1)).toBe(true);
  });
});
