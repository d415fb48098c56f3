import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  compile,
  entryOf,
  evaluate,
  NOT_CONSULTED,
  REASON_CODES,
  settle,
  visible,
  visibleEntries,
  type Decision,
  type GrantDocument,
  type PolicyDocument,
  type Principal,
  type Question,
  type SubjectFact,
  type UsageFact,
} from '../../../../src/governance/core/index.js';
import { artefacts, callers, canonical, capabilities, load, policies, principalOf } from './artefacts.js';

/** Laws P1–P12 of spec §8, on generated artefacts that also vary windows, subjects and omissions. */
const RUNS = { numRuns: 300 };

const subjects: fc.Arbitrary<SubjectFact> = fc.constantFrom<SubjectFact>(
  NOT_CONSULTED,
  { kind: 'none' },
  { kind: 'unreadable' },
  { kind: 'is', canonical: 'V1' },
  { kind: 'is', canonical: 'V2' },
  { kind: 'is', canonical: 'V3' },
);

const usages: fc.Arbitrary<UsageFact> = fc.oneof(
  fc.constant(NOT_CONSULTED),
  fc.constant({ kind: 'unknown' } as const),
  fc
    .record({
      used: fc.integer({ min: 0, max: 5 }),
      windowStart: fc.integer({ min: 0, max: 10_000_000 }),
      subjectCounted: fc.boolean(),
    })
    .map((count) => ({ kind: 'counted', of: () => count }) as const),
);

const cases = fc.record({
  at: fc.integer({ min: 0, max: 20_000_000 }),
  caller: callers,
  capability: capabilities,
  subject: subjects,
  usage: usages,
});

/** The oracle: whether the artefact, as written, has a grant for this. Knows nothing of the compiled model. */
function grantsFor(
  document: PolicyDocument,
  principal: Principal,
  capability: string,
  subject: SubjectFact,
): readonly GrantDocument[] {
  return document.grants.filter(
    ({ to, capabilities: opened, subject: bound }) =>
      to.issuer === principal.issuer &&
      Object.entries(to.attributes ?? {}).every(([name, value]) => principal.attributes.get(name) === value) &&
      opened.includes(capability) &&
      (bound === undefined || ownSubject(principal, bound.equals, subject)),
  );
}

function ownSubject(principal: Principal, attribute: string, subject: SubjectFact): boolean {
  const own = canonical(principal.attributes.get(attribute) ?? '');
  return own !== undefined && subject.kind === 'is' && subject.canonical === own;
}

/** What an allow may rest on. A list rests on whatever some subject could be asked for without a suspended grant. */
function basisOf(document: PolicyDocument, { principal, capability, subject }: Question): readonly GrantDocument[] {
  if (subject.kind !== 'not-consulted') return grantsFor(document, principal, capability, subject);
  const bases = ['V0', 'V1', 'V2']
    .map((someone) => grantsFor(document, principal, capability, { kind: 'is', canonical: someone }))
    .filter((grants) => !grants.some(({ limits, distinctSubjects: cap }) => limits?.calls === 0 || cap?.count === 0));
  return document.grants.filter((grant) => bases.some((grants) => grants.includes(grant)));
}

const mapped = (document: PolicyDocument): readonly string[] =>
  (document.upstreams ?? []).flatMap(({ tools, resources, prompts }) =>
    [...tools, ...(resources ?? []), ...(prompts ?? [])].map(({ capability }) => capability),
  );

interface Decided {
  readonly document: PolicyDocument;
  readonly question: Question;
  readonly decision: Decision;
}

/** Runs a law on every decision of the generated cases, and insists that all that matters was really met. */
function onEveryDecision(law: (decided: Decided) => void): void {
  const met = { allow: 0, deny: 0, calls: 0, subjects: 0, omitted: 0, otherSubject: 0, exhausted: 0 };
  fc.assert(
    fc.property(policies, fc.array(cases, { minLength: 4, maxLength: 8 }), ({ document, policy }, asked) => {
      for (const { caller, ...rest } of asked) {
        const question = { ...rest, principal: principalOf(policy, caller.issuer, caller.subject, caller.attributes) };
        const decision = evaluate(policy.ruleset, question);
        met[decision.outcome] += 1;
        if (decision.outcome === 'allow') {
          met.calls += Number(decision.charges.some(({ kind }) => kind === 'calls'));
          met.subjects += Number(decision.charges.some(({ kind }) => kind === 'subjects'));
          met.omitted += Number(decision.omit.length > 0);
        }
        met.otherSubject += Number(decision.reason.code === 'subject_not_allowed');
        met.exhausted += Number(decision.reason.code === 'limit_exhausted');
        law({ document, question, decision });
      }
    }),
    RUNS,
  );
  for (const [what, times] of Object.entries(met)) expect([what, times > 20]).toEqual([what, true]);
}

describe('the laws of a decision', () => {
  it('P1, P9: nothing is allowed without a grant whose issuer, attributes, capability and subject match', () => {
    onEveryDecision(({ document, question, decision }) => {
      if (decision.outcome === 'deny') return;
      const grants = basisOf(document, question);
      expect(grants.length).toBeGreaterThan(0);
      expect(new Set(grants.map(({ using }) => using))).toEqual(new Set([decision.account]));
    });
  });

  it('P1, the other way: with a grant, a real thing and an enabled account, only a ceiling can deny', () => {
    onEveryDecision(({ document, question, decision }) => {
      const grants = basisOf(document, question);
      if (grants.length === 0 || !mapped(document).includes(question.capability)) return;
      if (document.accounts.some(({ id, disabled }) => disabled === true && id === grants[0]?.using)) return;
      if (grants.some(({ limits, distinctSubjects }) => limits !== undefined || distinctSubjects !== undefined)) return;
      expect(decision.outcome).toBe('allow');
    });
  });

  it('P2: nothing is allowed for a capability that is not declared or has nothing real behind it', () => {
    onEveryDecision(({ document, question, decision }) => {
      if (decision.outcome === 'allow') expect(mapped(document)).toContain(question.capability);
    });
  });

  it('P3: nothing is allowed with a disabled account', () => {
    onEveryDecision(({ document, decision }) => {
      if (decision.outcome === 'deny') return;
      expect(document.accounts.find(({ id }) => id === decision.account)?.disabled).toBe(false);
    });
  });

  it('P4: a list shows exactly what the same evaluation allows with nothing consulted', () => {
    fc.assert(
      fc.property(policies, callers, ({ policy, document }, caller) => {
        const principal = principalOf(policy, caller.issuer, caller.subject, caller.attributes);
        const view = visible(policy, principal, 0);
        const allowed = document.capabilities
          .map(({ id }) => id)
          .filter((capability) => {
            const question = { principal, capability, at: 0, subject: NOT_CONSULTED, usage: NOT_CONSULTED };
            return evaluate(policy.ruleset, question).outcome === 'allow';
          });
        expect([...view.capabilities.keys()]).toEqual(allowed);
      }),
      RUNS,
    );
  });

  it('P4, across a call: what some call is allowed is in the list', () => {
    fc.assert(
      fc.property(policies, cases, ({ policy }, { caller, ...rest }) => {
        const principal = principalOf(policy, caller.issuer, caller.subject, caller.attributes);
        const decision = evaluate(policy.ruleset, { ...rest, principal });
        if (decision.outcome === 'allow')
          expect(visible(policy, principal, 0).capabilities.has(rest.capability)).toBe(true);
      }),
      RUNS,
    );
  });

  it('P5: every decision has a code of the closed vocabulary and a place', () => {
    onEveryDecision(({ decision }) => {
      expect(REASON_CODES).toContain(decision.reason.code);
      expect(decision.reason.path).not.toBe('');
      expect(decision.reason.code === 'granted').toBe(decision.outcome === 'allow');
    });
  });

  it('P6: an allow points at a grant that matches', () => {
    onEveryDecision(({ document, question, decision }) => {
      if (decision.outcome === 'deny') return;
      const matching = basisOf(document, question);
      const index = Number(/^\/grants\/(\d+)$/.exec(decision.reason.path)?.[1]);
      expect(matching).toContain(document.grants[index]);
      expect(decision.grants).toEqual(matching.map((grant) => `/grants/${document.grants.indexOf(grant)}`));
    });
  });

  it('P7: the same facts give the same decision, whatever was decided in between', () => {
    fc.assert(
      fc.property(policies, cases, fc.array(cases, { maxLength: 5 }), ({ policy }, asked, between) => {
        const ask = ({ caller, ...rest }: typeof asked): Decision =>
          evaluate(policy.ruleset, {
            ...rest,
            principal: principalOf(policy, caller.issuer, caller.subject, caller.attributes),
          });
        const first = ask(asked);
        between.forEach(ask);
        expect(ask(asked)).toEqual(first);
      }),
      RUNS,
    );
  });

  it('P8: the order of grants changes no outcome, code, account, ceiling, counter, subject or omission', () => {
    fc.assert(
      fc.property(
        policies,
        fc.array(cases, { minLength: 3, maxLength: 6 }),
        fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
        ({ document, policy }, asked, dice) => {
          const shuffled = document.grants
            .map((grant, index) => ({ grant, order: dice[index] ?? 0 }))
            .sort((one, other) => one.order - other.order)
            .map(({ grant }) => grant);
          for (const grants of [shuffled, [...document.grants].reverse()]) {
            const other = compile({ ...document, grants }).policy!;
            for (const { caller, ...rest } of asked) {
              const ask = (side: typeof policy): unknown => {
                const principal = principalOf(side, caller.issuer, caller.subject, caller.attributes);
                return withoutPlaces(evaluate(side.ruleset, { ...rest, principal }));
              };
              expect(ask(other)).toEqual(ask(policy));
            }
          }
        },
      ),
      RUNS,
    );
  });

  it('P10: nothing unmapped is ever seen, nor found by its name', () => {
    const local = ['t_uno', 't_dos', 't_tres', 't_cuatro', 'sin_permiso'].map(
      (name) => ({ kind: 'tool', name }) as const,
    );
    fc.assert(
      fc.property(artefacts, callers, (document, caller) => {
        const known = new Set(local.map(({ name }) => name));
        const [own] = document.upstreams ?? [];
        const onlyKnown = {
          ...own!,
          resources: [],
          prompts: [],
          tools: own!.tools.filter(({ name }) => known.has(name as 't_uno')),
        };
        const { policy } = compile({ ...document, upstreams: [onlyKnown] }, { catalogue: { local } });
        fc.pre(policy !== undefined);
        const principal = principalOf(policy, caller.issuer, caller.subject, caller.attributes);
        const seen = visibleEntries(policy, visible(policy, principal, 0)).map(({ exposedName }) => exposedName);
        const mappedNames = onlyKnown.tools.map(({ name }) => name);
        for (const name of seen) expect(mappedNames).toContain(name);
        expect(entryOf(policy, 'tool', 'sin_permiso')).toBeUndefined();
        expect(entryOf(policy, 'tool', 'toString')).toBeUndefined();
        expect(policy.unmapped.map(({ name }) => name)).toEqual(
          local.map(({ name }) => name).filter((name) => !mappedNames.includes(name)),
        );
      }),
      RUNS,
    );
  });

  it('P11: every place of a decision and of a diagnostic is a real line and column', () => {
    fc.assert(
      fc.property(policies, cases, ({ policy, document }, { caller, ...rest }) => {
        const loaded = load(document);
        const principal = principalOf(policy, caller.issuer, caller.subject, caller.attributes);
        const decision = evaluate(policy.ruleset, { ...rest, principal });
        const places = [decision.reason.path];
        if (decision.outcome === 'allow') places.push(...decision.grants, ...decision.charges.map(({ path }) => path));
        for (const place of places)
          expect(loaded.locate(place)).toEqual({
            line: expect.any(Number),
            column: expect.any(Number),
            offset: expect.any(Number),
          });
        for (const diagnostic of loaded.diagnostics) expect(diagnostic.position).toBeDefined();
      }),
      RUNS,
    );
  });

  it('P12: without grants everything is denied', () => {
    fc.assert(
      fc.property(artefacts, cases, (document, { caller, ...rest }) => {
        const policy = compile({ ...document, grants: [] }).policy!;
        const principal = principalOf(policy, caller.issuer, caller.subject, caller.attributes);
        expect(evaluate(policy.ruleset, { ...rest, principal }).outcome).toBe('deny');
        expect(visible(policy, principal, 0).capabilities.size).toBe(0);
      }),
      RUNS,
    );
  });
});

describe('the laws of ceilings, subjects and omissions', () => {
  it('charges every ceiling of every matching grant, and no other', () => {
    onEveryDecision(({ document, question, decision }) => {
      if (decision.outcome === 'deny') return;
      const grants = basisOf(document, question);
      const of = (kind: string): readonly string[] =>
        [
          ...new Set(
            decision.charges
              .filter((charge) => charge.kind === kind)
              .map(({ limit, windowMs }) => `${limit}/${windowMs}`),
          ),
        ].sort();
      const written = (limit: { readonly per: string } | undefined, count: number | undefined): readonly string[] =>
        limit === undefined ? [] : [`${count}/${milliseconds(limit.per)}`];
      expect(of('calls')).toEqual([...new Set(grants.flatMap(({ limits }) => written(limits, limits?.calls)))].sort());
      const countsSubjects = question.subject.kind === 'is' || question.subject.kind === 'not-consulted';
      const expected = countsSubjects ? grants.flatMap(({ distinctSubjects: cap }) => written(cap, cap?.count)) : [];
      expect(of('subjects')).toEqual([...new Set(expected)].sort());
    });
  });

  it('never charges one counter twice', () => {
    onEveryDecision(({ decision }) => {
      if (decision.outcome === 'deny') return;
      const keys = decision.charges.map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
    });
  });

  it('leaves out what any matching grant leaves out', () => {
    onEveryDecision(({ document, question, decision }) => {
      if (decision.outcome === 'deny') return;
      const grants = basisOf(document, question);
      expect(decision.omit).toEqual([...new Set(grants.flatMap(({ omit }) => omit ?? []))].sort());
    });
  });

  it('denies what no counter can tell, exactly when there is a ceiling', () => {
    fc.assert(
      fc.property(policies, cases, ({ policy }, { caller, ...rest }) => {
        const principal = principalOf(policy, caller.issuer, caller.subject, caller.attributes);
        const decided = evaluate(policy.ruleset, { ...rest, principal, usage: NOT_CONSULTED });
        fc.pre(decided.outcome === 'allow');
        const unknown = evaluate(policy.ruleset, { ...rest, principal, usage: { kind: 'unknown' } });
        expect(unknown.reason.code).toBe(decided.charges.length > 0 ? 'usage_unknown' : 'granted');
        expect(settle(decided, { kind: 'unknown' })).toEqual(unknown);
        expect(settle(decided, { kind: 'consumed' })).toEqual(decided);
      }),
      RUNS,
    );
  });

  it('never lets a grant that is added raise a ceiling', () => {
    fc.assert(
      fc.property(policies, cases, ({ document, policy }, { caller, ...rest }) => {
        const principal = principalOf(policy, caller.issuer, caller.subject, caller.attributes);
        const before = evaluate(policy.ruleset, { ...rest, principal, usage: NOT_CONSULTED });
        fc.pre(before.outcome === 'allow' && before.charges.length > 0);
        const added = { to: { issuer: caller.issuer }, capabilities: [rest.capability], using: before.account };
        const { policy: wider } = compile({ ...document, grants: [...document.grants, added] });
        fc.pre(wider !== undefined);
        const after = evaluate(wider.ruleset, { ...rest, principal, usage: NOT_CONSULTED });
        expect(after.outcome === 'allow' && after.charges.map(({ key }) => key)).toEqual(
          before.charges.map(({ key }) => key),
        );
      }),
      RUNS,
    );
  });

  it('keeps every secret reference out of the ruleset and of every decision', () => {
    fc.assert(
      fc.property(policies, cases, ({ policy }, { caller, ...rest }) => {
        const principal = principalOf(policy, caller.issuer, caller.subject, caller.attributes);
        const written = JSON.stringify(
          [policy.ruleset, evaluate(policy.ruleset, { ...rest, principal })],
          (_key, value: unknown) =>
            value instanceof Map || value instanceof Set ? [...(value as Iterable<unknown>)] : value,
        );
        for (const { account } of policy.grants) expect(written).toContain(account.id);
        expect(written).not.toContain('CENTINELA');
      }),
      RUNS,
    );
  });
});

function withoutPlaces(decision: Decision): unknown {
  const { reason } = decision;
  if (decision.outcome === 'deny') return { outcome: 'deny', code: reason.code, about: reason.about };
  const { account, charges, subjectEquals, omit } = decision;
  return {
    outcome: 'allow',
    code: reason.code,
    about: reason.about,
    account,
    subjectEquals,
    omit,
    charges: charges.map(({ path: _path, per: _per, ...charge }) => charge),
  };
}

const milliseconds = (per: string): number =>
  Number(per.slice(0, -1)) * { s: 1e3, m: 6e4, h: 36e5, d: 864e5 }[per.slice(-1) as 's'];
