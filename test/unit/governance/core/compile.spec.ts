import { describe, expect, it } from '@jest/globals';
import {
  DIAGNOSTIC_CODES,
  entryOf,
  type CatalogueItem,
  type CompileOptions,
  type DiagnosticCode,
  type GrantDocument,
  type PolicyDocument,
} from '../../../../src/governance/core/index.js';
import { loadPolicy } from '../../../../src/governance/policy-file/load-policy.js';
import { example, load, withGrants } from './artefacts.js';

const LOCAL: readonly CatalogueItem[] = [
  { kind: 'tool', name: 'consultar_cliente', hasSubject: true, outputFields: ['cedula', 'nombre', 'email', 'estado'] },
  { kind: 'tool', name: 'consultar_saldo', hasSubject: true, outputFields: ['cedula', 'saldo', 'moneda'] },
  {
    kind: 'tool',
    name: 'resumen_cliente',
    hasSubject: true,
    outputFields: ['cliente', 'cliente.datos', 'cliente.datos.email'],
    parts: ['consultar_cliente', 'consultar_saldo'],
  },
  { kind: 'resource', name: 'Estados', uri: 'data://clientes/estados', hasSubject: false },
  { kind: 'prompt', name: 'atencion_cliente' },
];
const withLocal: CompileOptions = { catalogue: { local: LOCAL } };

const remote = (name: string, id = 'mesa', url = 'https://mesa.example/mcp'): PolicyDocument =>
  example((draft) => {
    draft.upstreams = [
      ...(draft.upstreams ?? []),
      { id, transport: { kind: 'mcp-http', url }, tools: [{ name, capability: 'saldo.leer' }] },
    ];
  });

type Own = NonNullable<PolicyDocument['upstreams']>[number];
const ownUpstream = (change: (own: Own) => Partial<Own>): PolicyDocument =>
  example((draft) => {
    const own = draft.upstreams![0]!;
    draft.upstreams = [{ ...own, ...change(own) }];
  });

const withIssuers = (...issuers: PolicyDocument['principals']['issuers']): PolicyDocument =>
  example((draft) => {
    draft.principals = { issuers: [...draft.principals.issuers, ...issuers] };
  });

interface Case {
  readonly code: DiagnosticCode;
  readonly when: string;
  readonly given: PolicyDocument | string;
  readonly options?: CompileOptions;
  readonly severity?: 'warning';
  readonly path: string;
  readonly related?: readonly string[];
}

const CASES: readonly Case[] = [
  { code: 'yaml_syntax', when: 'the text is no YAML', given: 'version: [1', path: '' },
  {
    code: 'schema_violation',
    when: 'a field is unknown',
    given: { ...example(), deny: true } as PolicyDocument,
    path: '/deny',
  },
  {
    code: 'duplicate_id',
    when: 'an id is declared twice',
    given: example(
      (draft) => void (draft.accounts = [...draft.accounts, { id: 'lector', secret: { ref: 'env://X' } }]),
    ),
    path: '/accounts/2',
    related: ['/accounts/0'],
  },
  {
    code: 'unknown_capability_in_tool',
    when: 'a mapping names no capability',
    given: ownUpstream(({ tools }) => ({ tools: [...tools, { name: 'otra', capability: 'no.existe' }] })),
    path: '/upstreams/0/tools/3/capability',
    related: ['/capabilities'],
  },
  {
    code: 'claim_mapping_expected',
    when: 'an oidc attribute is no claim',
    given: withIssuers({
      id: 'x',
      kind: 'oidc',
      discovery: 'https://x.example',
      audience: 'y',
      attributes: { 'a/b~c': 'unit' },
    }),
    path: '/principals/issuers/2/attributes/a~1b~0c',
  },
  {
    code: 'dn_mapping_expected',
    when: 'an mtls attribute is no component',
    given: withIssuers({ id: 'x', kind: 'mtls', attributes: { unidad: 'OU' } }),
    path: '/principals/issuers/2/attributes/unidad',
  },
  {
    code: 'unknown_issuer_in_grant',
    when: 'a grant names no issuer',
    given: withGrants({ to: { issuer: 'nadie' } }),
    path: '/grants/0/to/issuer',
    related: ['/principals/issuers'],
  },
  {
    code: 'attribute_not_declared',
    when: 'a selector uses an attribute that the issuer does not have, nor inherits',
    given: withGrants({ to: { issuer: 'agentes', attributes: { toString: 'x' } } }),
    path: '/grants/0/to/attributes/toString',
    related: ['/principals/issuers/0/attributes'],
  },
  {
    code: 'attribute_not_declared',
    when: 'a subject is bound to an attribute that the issuer does not have',
    given: withGrants({ subject: { equals: 'rif' } }),
    path: '/grants/0/subject/equals',
    related: ['/principals/issuers/0/attributes'],
  },
  {
    code: 'unknown_capability_in_grant',
    when: 'a grant names no capability',
    given: withGrants({ capabilities: ['cliente.leer', 'no.existe'] }),
    path: '/grants/0/capabilities/1',
    related: ['/capabilities'],
  },
  {
    code: 'unknown_account_in_grant',
    when: 'a grant names no account',
    given: withGrants({ using: 'nadie' }),
    path: '/grants/0/using',
    related: ['/accounts'],
  },
  {
    code: 'ambiguous_grant',
    when: 'somebody could have two accounts',
    given: withGrants(
      { to: { issuer: 'agentes', attributes: { unidad: 'norte' } } },
      { to: { issuer: 'agentes', attributes: { cedula: 'V1' } }, using: 'cajero' },
    ),
    path: '/grants/0',
    related: ['/grants/1'],
  },
  {
    code: 'tool_not_in_catalog',
    when: 'a mapping names nothing that exists',
    given: ownUpstream(({ tools }) => ({ tools: [...tools, { name: 'borrar', capability: 'cliente.leer' }] })),
    options: withLocal,
    path: '/upstreams/0/tools/3/name',
  },
  {
    code: 'tool_not_in_catalog',
    when: 'a resource does not exist',
    given: ownUpstream(() => ({ resources: [{ uri: 'data://otra', capability: 'estados.leer' }] })),
    options: withLocal,
    path: '/upstreams/0/resources/0/uri',
  },
  {
    code: 'capability_not_realized',
    when: 'nothing realises a capability',
    given: example((draft) => void (draft.capabilities = [...draft.capabilities, { id: 'ticket.crear' }])),
    severity: 'warning',
    path: '/capabilities/4',
  },
  {
    code: 'unused_account',
    when: 'no grant uses an account',
    given: withGrants({}),
    severity: 'warning',
    path: '/accounts/1',
  },
  {
    code: 'catalog_tool_unmapped',
    when: 'something real has no mapping',
    given: ownUpstream(({ tools }) => ({ tools: tools.slice(0, 2) })),
    options: withLocal,
    severity: 'warning',
    path: '/upstreams',
  },
  {
    code: 'duplicate_tool_mapping',
    when: 'a tool is mapped twice',
    given: ownUpstream(({ tools }) => ({ tools: [...tools, { name: 'consultar_cliente', capability: 'saldo.leer' }] })),
    path: '/upstreams/0/tools/3',
    related: ['/upstreams/0/tools/0'],
  },
  {
    code: 'duplicate_tool_mapping',
    when: 'a resource is mapped by URI and by name',
    given: ownUpstream(({ resources }) => ({
      resources: [...(resources ?? []), { name: 'Estados', capability: 'cliente.leer' }],
    })),
    options: withLocal,
    path: '/upstreams/0/resources/1',
    related: ['/upstreams/0/resources/0'],
  },
  {
    code: 'duplicate_tool_mapping',
    when: 'a local tool takes the exposed name of a remote one',
    given: example((draft) => {
      const own = draft.upstreams![0]!;
      draft.upstreams = [
        { ...own, tools: [...own.tools, { name: 'mesa__abrir', capability: 'saldo.leer' }] },
        {
          id: 'mesa',
          transport: { kind: 'mcp-stdio', command: 'mesa' },
          tools: [{ name: 'abrir', capability: 'saldo.leer' }],
        },
      ];
    }),
    path: '/upstreams/1/tools/0',
    related: ['/upstreams/0/tools/3'],
  },
  {
    code: 'issuer_incomplete',
    when: 'a static key has no key',
    given: withIssuers({ id: 'x', kind: 'static-key', subject: 's' }),
    severity: 'warning',
    path: '/principals/issuers/2',
  },
  {
    code: 'issuer_incomplete',
    when: 'it would be served',
    given: withIssuers({ id: 'x', kind: 'static-key', subject: ' ', secret: { ref: 'env://K' } }),
    options: { purpose: 'serve' },
    path: '/principals/issuers/2',
  },
  {
    code: 'issuer_incomplete',
    when: 'any token of the provider would pass',
    given: withIssuers({ id: 'x', kind: 'oidc', discovery: 'https://x.example' }),
    options: { purpose: 'serve' },
    path: '/principals/issuers/2',
  },
  {
    code: 'exposed_name_too_long',
    when: 'clients would refuse the name',
    given: remote('t'.repeat(59)),
    path: '/upstreams/1/tools/0/name',
  },
  {
    code: 'exposed_name_too_long',
    when: 'the name has other characters',
    given: remote('abrir.caso'),
    path: '/upstreams/1/tools/0/name',
  },
  {
    code: 'unknown_secret_scheme',
    when: 'nothing can read a reference',
    given: example(
      (draft) => void (draft.accounts = [draft.accounts[0]!, { id: 'cajero', secret: { ref: 'vault://kv/cajero' } }]),
    ),
    severity: 'warning',
    path: '/accounts/1/secret/ref',
  },
  {
    code: 'insecure_url',
    when: 'an upstream would be called in the clear',
    given: remote('abrir', 'mesa', 'http://mesa.example/mcp'),
    path: '/upstreams/1/transport/url',
  },
  {
    code: 'insecure_url',
    when: 'a host only looks like loopback',
    given: remote('abrir', 'mesa', 'http://localhost:80@mesa.example/mcp'),
    path: '/upstreams/1/transport/url',
  },
  {
    code: 'insecure_url',
    when: 'keys of a provider would be fetched in the clear',
    given: withIssuers({ id: 'x', kind: 'oidc', discovery: 'http://id.example', audience: 'y' }),
    path: '/principals/issuers/2/discovery',
  },
  {
    code: 'unknown_upstream_in_catalog',
    when: 'the catalogue speaks of nobody',
    given: example(),
    options: { catalogue: { upstreams: new Map([['otro', []]]) } },
    path: '/upstreams',
  },
  {
    code: 'omit_unknown_field',
    when: 'an omission is misspelt',
    given: withGrants({ capabilities: ['cliente.leer', 'resumen.leer'], omit: ['email', 'emial'] }),
    options: withLocal,
    path: '/grants/0/omit/1',
  },
  {
    code: 'omit_not_enforceable',
    when: 'something has no output schema',
    given: withGrants({ capabilities: ['cliente.leer', 'estados.leer'], omit: ['email'] }),
    options: withLocal,
    severity: 'warning',
    path: '/grants/0/omit',
  },
  {
    code: 'subject_not_available',
    when: 'a binding can never be met',
    given: withGrants({ capabilities: ['estados.leer'], subject: { equals: 'cedula' } }),
    options: withLocal,
    severity: 'warning',
    path: '/grants/0/subject',
  },
  {
    code: 'part_not_mapped',
    when: 'a part of a composite is invisible',
    given: ownUpstream(({ tools }) => ({ tools: tools.filter(({ name }) => name !== 'consultar_saldo') })),
    options: withLocal,
    severity: 'warning',
    path: '/upstreams/0/tools/1',
  },
  {
    code: 'shared_issuer_secret',
    when: 'one key would be two principals',
    given: withIssuers({ id: 'x', kind: 'static-key', subject: 's', secret: { ref: 'env://LLAVE_NOCTURNA' } }),
    severity: 'warning',
    path: '/principals/issuers/2/secret/ref',
    related: ['/principals/issuers/1'],
  },
];

const run = ({ given, options }: Case) =>
  typeof given === 'string' ? loadPolicy(given, options) : load(given, options);

describe('the compiler', () => {
  it('has nothing to say about the example, with or without a catalogue', () => {
    expect(load(example()).diagnostics).toEqual([]);
    expect(load(example(), withLocal).diagnostics).toEqual([]);
  });

  it.each(CASES)('reports $code when $when', (given) => {
    const { diagnostics } = run(given);
    const { code, path, severity = 'error', related = [] } = given;
    const found = diagnostics.find((diagnostic) => diagnostic.code === code && diagnostic.path === path);
    expect(found).toMatchObject({ severity, position: { line: expect.any(Number), column: expect.any(Number) } });
    expect(found?.related.map((place) => place.path)).toEqual(related);
    for (const place of found?.related ?? []) expect(place).toHaveProperty('position');
  });

  it.each(CASES)('gives a policy only without errors: $code when $when', (given) => {
    const { policy, diagnostics } = run(given);
    expect(policy === undefined).toBe(diagnostics.some(({ severity }) => severity === 'error'));
    if (given.severity === 'warning') expect(policy).toBeDefined();
  });

  it('has a case for each code of its vocabulary', () => {
    expect([...new Set(CASES.map(({ code }) => code))].sort()).toEqual([...DIAGNOSTIC_CODES].sort());
  });

  it('tells all findings at once', () => {
    const { diagnostics } = load(
      withGrants({ using: 'nadie' }, { to: { issuer: 'nadie' } }, { capabilities: ['no.existe'] }),
    );
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ path }) => path)).toEqual(
      ['/grants/0/using', '/grants/1/to/issuer', '/grants/2/capabilities/0', '/grants/0', '/grants/0'].slice(
        0,
        errors.length,
      ),
    );
    expect(errors.length).toBeGreaterThanOrEqual(3);
  });

  it('never quotes a secret reference', () => {
    const secret = 'vault://CENTINELA/x#y';
    const document = example((draft) => {
      draft.accounts = draft.accounts.map((account) => ({ ...account, secret: { ref: secret } }));
      draft.principals = {
        issuers: draft.principals.issuers.map((issuer) => ({ ...issuer, secret: { ref: secret }, kind: 'static-key' })),
      };
    });
    const { diagnostics } = load(document);
    expect(diagnostics.filter(({ code }) => code === 'unknown_secret_scheme')).toHaveLength(4);
    expect(JSON.stringify(diagnostics)).not.toContain('CENTINELA');
  });
});

describe('ambiguity', () => {
  const ambiguous = (...pair: readonly Partial<GrantDocument>[]): boolean =>
    load(withGrants(...pair)).diagnostics.some(({ code }) => code === 'ambiguous_grant');
  const norte = { issuer: 'agentes', attributes: { unidad: 'norte' } };
  const sur = { issuer: 'agentes', attributes: { unidad: 'sur' } };

  it('is nothing that disjoint selectors, other capabilities or one account can have', () => {
    expect(ambiguous({ to: norte }, { to: sur, using: 'cajero' })).toBe(false);
    expect(ambiguous({ to: norte }, { to: { issuer: 'nocturno' }, using: 'cajero' })).toBe(false);
    expect(ambiguous({ to: norte }, { to: norte, capabilities: ['saldo.leer'], using: 'cajero' })).toBe(false);
    expect(ambiguous({ to: norte }, { to: norte })).toBe(false);
  });

  it('is not resolved by how special a selector is, nor by a subject', () => {
    expect(ambiguous({ to: norte }, { using: 'cajero' })).toBe(true);
    expect(ambiguous({ subject: { equals: 'cedula' } }, { using: 'cajero' })).toBe(true);
  });
});

describe('the names that callers see', () => {
  it("are a local tool's own, and always qualified for an upstream", () => {
    const { policy } = load(remote('abrir_caso'));
    expect(entryOf(policy!, 'tool', 'consultar_cliente')?.upstream).toBe('propio');
    expect(entryOf(policy!, 'tool', 'mesa__abrir_caso')).toMatchObject({
      upstream: 'mesa',
      name: 'abrir_caso',
      transport: 'mcp-http',
    });
    expect(entryOf(policy!, 'tool', 'abrir_caso')).toBeUndefined();
  });

  it('show a resource under its URI, however the artefact names it', () => {
    const { policy } = load(
      ownUpstream(() => ({ resources: [{ name: 'Estados', capability: 'estados.leer' }] })),
      withLocal,
    );
    expect(entryOf(policy!, 'resource', 'data://clientes/estados')?.capability).toBe('estados.leer');
  });

  it.each(['http://localhost:8080/mcp', 'http://127.0.0.1/mcp', 'http://[::1]:1/mcp', 'https://mesa.example'])(
    'may lead to %s',
    (url) => {
      expect(load(remote('abrir', 'mesa', url)).policy).toBeDefined();
    },
  );
});
