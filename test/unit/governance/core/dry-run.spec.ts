import { describe, expect, it } from '@jest/globals';
import { explain, whoCan, type ExplainQuestion, type PolicyDocument } from '../../../../src/governance/core/index.js';
import { canonical, example, policyOf, withGrants } from './artefacts.js';

const ask = (
  document: PolicyDocument,
  question: Partial<ExplainQuestion> = {},
  options?: Parameters<typeof policyOf>[1],
) =>
  explain(
    policyOf(document, options),
    {
      issuer: 'agentes',
      subject: 'ana',
      attributes: { unidad: 'norte', cedula: 'V-1' },
      capability: 'cliente.leer',
      at: 0,
      ...question,
    },
    canonical,
  );

describe('explain', () => {
  it('tells the decision, what it shows, and what every grant of the capability made of it', () => {
    const document = withGrants(
      { limits: { calls: 5, per: '1h' } },
      { to: { issuer: 'nocturno' } },
      { to: { issuer: 'agentes', attributes: { unidad: 'sur', cedula: 'V-1' } } },
      { subject: { equals: 'cedula' } },
    );
    const explanation = ask(document, { dataSubject: 'V9' });
    expect(explanation.decision).toMatchObject({
      outcome: 'allow',
      account: 'lector',
      charges: [{ limit: 5, per: '1h' }],
    });
    expect(explanation.entries.map(({ entry }) => entry.exposedName)).toEqual(['consultar_cliente']);
    expect(explanation.grants).toEqual([
      { path: '/grants/0', verdict: 'matches', attributes: [] },
      { path: '/grants/1', verdict: 'other_issuer', attributes: [] },
      { path: '/grants/2', verdict: 'attribute_differs', attributes: ['unidad'] },
      { path: '/grants/3', verdict: 'subject_differs', attributes: ['cedula'] },
    ]);
  });

  it('lists the attributes that it had to discard', () => {
    expect(ask(example(), { attributes: { rol: 'admin' } }).resolution).toMatchObject({ ok: true, discarded: ['rol'] });
  });

  it('counts no call by default, and as many as it is told', () => {
    const document = withGrants({ limits: { calls: 5, per: '1h' } });
    expect(ask(document).decision?.outcome).toBe('allow');
    expect(ask(document, { usage: 4 }).decision?.outcome).toBe('allow');
    expect(ask(document, { usage: 5 }).decision?.reason.code).toBe('limit_exhausted');
    expect(ask(document, { usage: 'unknown' }).decision?.reason.code).toBe('usage_unknown');
    expect(ask(document, { usage: 'not-consulted' }).decision?.outcome).toBe('allow');
  });

  it('knows who a static key is, and takes no source for a value', () => {
    const document = example((draft) => {
      draft.principals = {
        issuers: [...draft.principals.issuers, { id: 'malla', kind: 'mtls', attributes: { unidad: 'dn:OU' } }],
      };
      draft.grants = [...draft.grants, { to: { issuer: 'malla' }, capabilities: ['cliente.leer'], using: 'lector' }];
    });
    const night = ask(document, { issuer: 'nocturno', subject: undefined, attributes: {}, capability: 'saldo.leer' });
    expect(night.resolution).toMatchObject({ ok: true, principal: { id: 'nocturno:lote' } });
    expect(night.resolution.ok && [...night.resolution.principal.attributes]).toEqual([['cedula', 'V-1']]);
    const mesh = ask(document, { issuer: 'malla', attributes: {} });
    expect(mesh.resolution.ok && mesh.resolution.principal.attributes.size).toBe(0);
  });

  it('explains an unknown issuer and a missing subject instead of deciding', () => {
    expect(ask(example(), { issuer: 'nadie' })).toEqual({
      resolution: { ok: false, problem: 'issuer_unknown' },
      grants: [],
      entries: [],
    });
    expect(ask(example(), { subject: undefined }).resolution).toEqual({ ok: false, problem: 'credential_missing' });
  });

  it('shows nothing on a denial', () => {
    expect(ask(example(), { capability: 'saldo.leer' })).toMatchObject({
      decision: { reason: { code: 'no_grant_matches' } },
      entries: [],
    });
  });

  it('decides the parts of a composite too', () => {
    const local = [
      ...['consultar_cliente', 'consultar_saldo'].map((name) => ({ kind: 'tool', name }) as const),
      { kind: 'tool', name: 'resumen_cliente', parts: ['consultar_cliente', 'consultar_saldo'] },
      { kind: 'resource', name: 'Estados', uri: 'data://clientes/estados' },
      { kind: 'prompt', name: 'atencion_cliente' },
    ] as const;
    const { entries } = ask(example(), { capability: 'resumen.leer' }, { catalogue: { local } });
    expect(
      entries.map(({ entry, parts }) => [
        entry.exposedName,
        [...parts].map(([name, { outcome }]) => `${name} ${outcome}`),
      ]),
    ).toEqual([
      ['resumen_cliente', ['consultar_cliente allow', 'consultar_saldo deny']],
      ['atencion_cliente', []],
    ]);
  });
});

describe('who-can', () => {
  it('names every grant of a capability with all its terms', () => {
    const policy = policyOf(
      withGrants(
        { to: { issuer: 'agentes', attributes: { unidad: 'norte' } }, limits: { calls: 0, per: '1h' } },
        { subject: { equals: 'cedula' }, distinctSubjects: { count: 3, per: '1d' }, omit: ['email'] },
        { capabilities: ['saldo.leer'] },
      ),
    );
    const { holders, entries, ...rest } = whoCan(policy, 'cliente.leer');
    expect(rest).toEqual({ capability: 'cliente.leer', declared: true, realized: true, path: '/capabilities/0' });
    expect(entries.map(({ exposedName }) => exposedName)).toEqual(['consultar_cliente']);
    expect(holders).toMatchObject([
      {
        path: '/grants/0',
        issuer: 'agentes',
        suspended: true,
        calls: { limit: 0 },
        account: { id: 'lector', disabled: false },
      },
      { path: '/grants/1', suspended: false, subjectEquals: 'cedula', distinctSubjects: { limit: 3 }, omit: ['email'] },
    ]);
    expect([...(holders[0]?.attributes ?? [])]).toEqual([['unidad', 'norte']]);
  });

  it('names nobody for what is not declared', () => {
    expect(whoCan(policyOf(example()), 'toString')).toEqual({
      capability: 'toString',
      declared: false,
      realized: false,
      holders: [],
      entries: [],
    });
  });

  it('says nothing about where a secret is kept', () => {
    expect(JSON.stringify(whoCan(policyOf(example()), 'cliente.leer'))).not.toContain('env://');
  });
});
