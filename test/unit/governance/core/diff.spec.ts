import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  compile,
  diff,
  MAX_REPRESENTATIVES,
  type Change,
  type Difference,
  type PolicyDocument,
} from '../../../../src/governance/core/index.js';
import { example, policies, withGrants } from './artefacts.js';

const compare = (before: PolicyDocument, after: PolicyDocument): Extract<Difference, { comparable: true }> => {
  const difference = diff(compile(before), compile(after));
  if (!difference.comparable) throw new Error(JSON.stringify(difference));
  return difference;
};
const changes = (before: PolicyDocument, after: PolicyDocument): readonly Change[] => compare(before, after).changes;
const NOTHING = {
  comparable: true,
  changes: [],
  grants: { removed: [], added: [] },
  entries: [],
  identities: [],
  partial: false,
};
const norte = { issuer: 'agentes', attributes: { unidad: 'norte' } };

describe('diff', () => {
  it('finds nothing between an artefact and itself in any order of grants', () => {
    fc.assert(
      fc.property(policies, ({ document }) => {
        expect(compare(document, { ...document, grants: [...document.grants].reverse() })).toEqual(NOTHING);
      }),
      { numRuns: 100 },
    );
  });

  it('finds nothing but the new grant when one is inserted at the top', () => {
    const before = withGrants({}, { to: norte, capabilities: ['saldo.leer'] });
    const after = {
      ...before,
      grants: [{ to: norte, capabilities: ['resumen.leer'], using: 'lector' }, ...before.grants],
    };
    const difference = compare(before, after);
    expect(difference.grants).toEqual({ removed: [], added: ['/grants/0'] });
    expect(new Set(difference.changes.map(({ capability }) => capability))).toEqual(new Set(['resumen.leer']));
    expect(
      difference.changes.every(
        ({ before: was, after: is }) => was?.code === 'no_grant_matches' && is?.code === 'granted',
      ),
    ).toBe(true);
  });

  it('compares ceilings: 500 an hour is not 5 an hour, and 60 minutes are an hour', () => {
    const limited = (calls: number, per: string): PolicyDocument => withGrants({ limits: { calls, per } });
    const [change] = changes(limited(500, '1h'), limited(5, '1h'));
    expect([change?.before?.calls[0]?.limit, change?.after?.calls[0]?.limit]).toEqual([500, 5]);
    expect(changes(limited(5, '60m'), limited(5, '1h'))).toEqual([]);
    expect(compare(limited(5, '60m'), limited(5, '1h'))).toEqual(NOTHING);
  });

  it('compares how many subjects, and what is omitted', () => {
    const subjects = (count: number): PolicyDocument => withGrants({ distinctSubjects: { count, per: '1d' } });
    expect(changes(subjects(5), subjects(50))[0]?.after?.distinctSubjects).toEqual([
      { limit: 50, per: '1d', windowMs: 86_400_000 },
    ]);
    expect(changes(withGrants({ omit: ['email'] }), withGrants({}))[0]).toMatchObject({
      before: { omit: ['email'] },
      after: { omit: [] },
    });
    expect(changes(withGrants({ omit: ['a', 'b'] }), withGrants({ omit: ['b', 'a'] }))).toEqual([]);
  });

  it('compares whose data: a binding changes what is allowed of others, not of oneself', () => {
    const found = changes(withGrants({}), withGrants({ subject: { equals: 'cedula' } }));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({
      subject: 'other',
      before: { code: 'granted' },
      after: { code: 'subject_not_allowed' },
    });
  });

  it('sees a binding that moves to another attribute', () => {
    const bound = (equals: string): PolicyDocument => withGrants({ subject: { equals } });
    expect(changes(bound('cedula'), bound('unidad')).map(({ subject, after }) => [subject, after?.outcome])).toEqual([
      [{ own: 'cedula' }, 'deny'],
      [{ own: 'unidad' }, 'allow'],
    ]);
  });

  it('compares accounts, disabled ones too', () => {
    expect(changes(withGrants({}), withGrants({ using: 'cajero' }))[0]).toMatchObject({
      before: { account: 'lector' },
      after: { account: 'cajero' },
    });
    const disabled = example(
      (draft) => void (draft.accounts = draft.accounts.map((account) => ({ ...account, disabled: true }))),
    );
    expect(changes(example(), disabled)[0]?.after?.code).toBe('account_disabled');
  });

  it('asks for those who match two selectors at once', () => {
    const two = (calls: number): PolicyDocument =>
      withGrants(
        { to: norte },
        { to: { issuer: 'agentes', attributes: { cedula: 'V-1' } }, limits: { calls, per: '1h' } },
      );
    const attributes = changes(two(5), two(9)).map((change) => Object.fromEntries(change.attributes));
    expect(attributes).toContainEqual({ unidad: 'norte', cedula: 'V-1' });
  });

  it('says when a capability or an issuer stands on one side only', () => {
    const more = example((draft) => {
      draft.capabilities = [...draft.capabilities, { id: 'ticket.crear' }];
      draft.principals = { issuers: [...draft.principals.issuers, { id: 'malla', kind: 'mtls' }] };
      draft.grants = [...draft.grants, { to: { issuer: 'malla' }, capabilities: ['cliente.leer'], using: 'lector' }];
    });
    const found = changes(example(), more);
    expect(found.find(({ capability }) => capability === 'ticket.crear')).not.toHaveProperty('before');
    expect(found.find(({ issuer, capability }) => issuer === 'malla' && capability === 'cliente.leer')).toMatchObject({
      before: { outcome: 'unresolved', code: 'issuer_unknown' },
      after: { outcome: 'allow' },
    });
  });

  it('sees a static key become somebody else, and what that opens', () => {
    const key = (cedula: string): PolicyDocument =>
      example((draft) => {
        draft.principals = {
          issuers: draft.principals.issuers.map((issuer) =>
            issuer.id === 'nocturno' ? { ...issuer, attributes: { cedula } } : issuer,
          ),
        };
        draft.grants = [
          { to: { issuer: 'nocturno', attributes: { cedula: 'V-1' } }, capabilities: ['saldo.leer'], using: 'cajero' },
        ];
      });
    const difference = compare(key('V-1'), key('V-2'));
    expect(difference.identities).toEqual(['nocturno']);
    expect(difference.changes).toMatchObject([
      { issuer: 'nocturno', before: { outcome: 'allow' }, after: { outcome: 'deny' } },
    ]);
  });

  it('sees a tool move to another capability', () => {
    const moved = example((draft) => {
      const own = draft.upstreams![0]!;
      draft.upstreams = [{ ...own, tools: own.tools.map((tool) => ({ ...tool, capability: 'cliente.leer' })) }];
    });
    expect(compare(example(), moved).entries).toContainEqual({
      kind: 'tool',
      exposedName: 'consultar_saldo',
      before: 'saldo.leer',
      after: 'cliente.leer',
    });
  });

  it('says which side does not compile, and why', () => {
    const broken = withGrants({ using: 'nadie' });
    expect(diff(compile(broken), compile(example()))).toMatchObject({
      comparable: false,
      before: [{ code: 'unknown_account_in_grant' }],
      after: [],
    });
    expect(diff(compile(example()), compile(broken))).toMatchObject({ comparable: false, before: [] });
  });

  it('says that it is partial when there are too many who could match together', () => {
    const names = Array.from({ length: 12 }, (_, index) => `a${index}`);
    const many = example((draft) => {
      draft.principals = {
        issuers: [
          { id: 'agentes', kind: 'mtls', attributes: Object.fromEntries(names.map((name) => [name, `dn:${name}`])) },
        ],
      };
      draft.grants = names.map((name) => ({
        to: { issuer: 'agentes', attributes: { [name]: 'x' } },
        capabilities: ['cliente.leer'],
        using: 'lector',
      }));
    });
    expect(2 ** names.length).toBeGreaterThan(MAX_REPRESENTATIVES);
    expect(compare(many, many).partial).toBe(true);
  });
});
