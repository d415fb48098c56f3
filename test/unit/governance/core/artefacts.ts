import fc from 'fast-check';
import { stringify } from 'yaml';
import {
  compile,
  normalisePrincipal,
  type Canonical,
  type GrantDocument,
  type Policy,
  type PolicyDocument,
  type Principal,
} from '../../../../src/governance/core/index.js';
import { loadPolicy, type LoadedPolicy } from '../../../../src/governance/policy-file/load-policy.js';
import type { CompileOptions } from '../../../../src/governance/core/index.js';

/** Stands for identifiers/: letter and digits, with or without dots and dashes. */
export const canonical: Canonical = (text) => {
  const short = text.replaceAll(/[.-]/g, '').toUpperCase();
  return /^[VEJ]\d{1,9}$/.test(short) ? short : undefined;
};

export const load = (document: unknown, options?: CompileOptions): LoadedPolicy =>
  loadPolicy(stringify(document, { aliasDuplicateObjects: false }), options);

export function policyOf(document: unknown, options?: CompileOptions): Policy {
  const loaded = load(document, options);
  if (loaded.policy === undefined)
    throw new Error(loaded.diagnostics.map(({ code, path, message }) => `${code} ${path} ${message}`).join('\n'));
  return loaded.policy;
}

export function principalOf(
  policy: Policy,
  issuer: string,
  subject: string,
  attributes: Record<string, string> = {},
): Principal {
  const resolution = normalisePrincipal(policy.issuers.get(issuer), { issuer, subject, attributes }, canonical);
  if (!resolution.ok) throw new Error(resolution.problem);
  return resolution.principal;
}

type Draft = { -readonly [Key in keyof PolicyDocument]: PolicyDocument[Key] };

/** A small artefact without findings; tests change one thing in a copy. */
export const example = (change: (draft: Draft) => void = () => undefined): PolicyDocument => {
  const draft: Draft = {
    version: 1,
    capabilities: [{ id: 'cliente.leer' }, { id: 'saldo.leer' }, { id: 'resumen.leer' }, { id: 'estados.leer' }],
    upstreams: [
      {
        id: 'propio',
        transport: { kind: 'local' },
        tools: [
          { name: 'consultar_cliente', capability: 'cliente.leer' },
          { name: 'consultar_saldo', capability: 'saldo.leer' },
          { name: 'resumen_cliente', capability: 'resumen.leer' },
        ],
        resources: [{ uri: 'data://clientes/estados', capability: 'estados.leer' }],
        prompts: [{ name: 'atencion_cliente', capability: 'resumen.leer' }],
      },
    ],
    accounts: [
      { id: 'lector', secret: { ref: 'env://LECTOR_DSN' } },
      { id: 'cajero', secret: { ref: 'file:///run/secrets/cajero' } },
    ],
    principals: {
      issuers: [
        {
          id: 'agentes',
          kind: 'oidc',
          discovery: 'https://id.example/.well-known/openid-configuration',
          audience: 'mcp-corp',
          attributes: { unidad: 'claim:unit', cedula: 'claim:cedula' },
        },
        {
          id: 'nocturno',
          kind: 'static-key',
          subject: 'lote',
          secret: { ref: 'env://LLAVE_NOCTURNA' },
          attributes: { cedula: 'V-1' },
        },
      ],
    },
    grants: [
      { to: { issuer: 'agentes' }, capabilities: ['cliente.leer', 'resumen.leer', 'estados.leer'], using: 'lector' },
      { to: { issuer: 'nocturno' }, capabilities: ['saldo.leer'], using: 'cajero' },
    ],
  };
  change(draft);
  return draft;
};

/** One grant of everything to the agents, with the given terms. */
export const withGrants = (...terms: readonly Partial<GrantDocument>[]): PolicyDocument =>
  example((draft) => {
    draft.grants = terms.map((term) => ({
      to: { issuer: 'agentes' },
      capabilities: ['cliente.leer'],
      using: 'lector',
      ...term,
    }));
  });

const CAPABILITIES = ['c.uno', 'c.dos', 'c.tres', 'c.cuatro'];
const ATTRIBUTES = { unidad: ['norte', 'sur'], nivel: ['a/b', 'c~d'], cedula: ['V-1', 'V-2'] };
const window = fc.constantFrom('30s', '5m', '1h', '24h', '1d', '7d');

const someone = {
  unidad: fc.constantFrom(...ATTRIBUTES.unidad),
  nivel: fc.constantFrom(...ATTRIBUTES.nivel),
  cedula: fc.constantFrom(...ATTRIBUTES.cedula),
};

/** Selectors are loose, or hardly any caller would match anything. */
const selection: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 2, arbitrary: fc.record({ unidad: someone.unidad }) },
  { weight: 1, arbitrary: fc.record(someone, { requiredKeys: [] }) },
);

const sometimes = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 });

/** Zero suspends a grant: rare, or nothing would be allowed. */
const limit = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 5 }) },
);

const grant: fc.Arbitrary<GrantDocument> = fc
  .record({
    issuer: fc.constantFrom('personas', 'personas', 'maquina', 'malla'),
    attributes: selection,
    capabilities: fc.uniqueArray(fc.constantFrom(...CAPABILITIES), { minLength: 1, maxLength: 4 }),
    // Mostly one account per issuer, or nearly every artefact would be ambiguous.
    stray: fc.integer({ min: 0, max: 19 }).map((die) => die === 0),
    limits: sometimes(fc.record({ calls: limit, per: window })),
    distinctSubjects: sometimes(fc.record({ count: limit, per: window })),
    subject: sometimes(fc.constant({ equals: 'cedula' })),
    omit: fc.option(fc.uniqueArray(fc.constantFrom('email', 'datos.nombre', 'saldo'), { maxLength: 2 }), {
      nil: undefined,
    }),
  })
  .map(({ issuer, attributes, capabilities, stray, ...terms }) => ({
    to: { issuer, attributes },
    capabilities,
    using: stray ? 'otra' : `cuenta-${issuer}`,
    ...Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined)),
  }));

/** Artefacts that vary selectors, accounts, windows, ceilings, subjects, omissions and what is real. */
export const artefacts: fc.Arbitrary<PolicyDocument> = fc
  .record({
    grants: fc.array(grant, { minLength: 1, maxLength: 9, size: 'max' }),
    disabled: fc.subarray(['cuenta-personas', 'cuenta-maquina', 'otra', 'x', 'y', 'z'], { maxLength: 1 }),
    // Each capability may be realised by a tool, a resource, a prompt or nothing.
    realized: fc.tuple(...CAPABILITIES.map(() => fc.constantFrom('tool', 'tool', 'resource', 'prompt', 'nothing'))),
  })
  .map(({ grants, disabled, realized }) => {
    const of = (kind: string): string[] => CAPABILITIES.filter((_, index) => realized[index] === kind);
    return {
      version: 1,
      capabilities: CAPABILITIES.map((id) => ({ id })),
      upstreams: [
        {
          id: 'propio',
          transport: { kind: 'local' },
          tools: of('tool').map((capability) => ({ name: `t_${capability.slice(2)}`, capability })),
          resources: of('resource').map((capability) => ({ uri: `data://${capability}`, capability })),
          prompts: of('prompt').map((capability) => ({ name: `p_${capability}`, capability })),
        },
      ],
      accounts: ['cuenta-personas', 'cuenta-maquina', 'cuenta-malla', 'otra'].map((id) => ({
        id,
        disabled: disabled.includes(id),
        secret: { ref: `env://CENTINELA_${id.toUpperCase()}` },
      })),
      principals: {
        issuers: [
          {
            id: 'personas',
            kind: 'oidc',
            discovery: 'https://id.example/d',
            audience: 'x',
            attributes: { unidad: 'claim:u', nivel: 'claim:n', cedula: 'claim:c' },
          },
          {
            id: 'maquina',
            kind: 'static-key',
            subject: 'robot',
            secret: { ref: 'env://CENTINELA_LLAVE' },
            attributes: { unidad: 'norte', nivel: 'a/b', cedula: 'V-1' },
          },
          { id: 'malla', kind: 'mtls', attributes: { unidad: 'dn:OU', nivel: 'dn:L', cedula: 'dn:SERIALNUMBER' } },
        ],
      },
      grants,
    } satisfies PolicyDocument;
  });

export const callers = fc.record({
  issuer: fc.constantFrom('personas', 'personas', 'maquina', 'malla'),
  subject: fc.constantFrom('ana', 'luis'),
  attributes: fc.oneof(
    { weight: 4, arbitrary: fc.record(someone) },
    { weight: 1, arbitrary: fc.record(someone, { requiredKeys: [] }) },
  ),
});

/** Declared capabilities and one that is not. */
export const capabilities = fc.constantFrom(...CAPABILITIES, ...CAPABILITIES, 'c.ninguna');

/** An artefact that compiles; a generated one may fail for no reason but ambiguity. */
export const policies: fc.Arbitrary<{ readonly document: PolicyDocument; readonly policy: Policy }> = artefacts
  .map((document) => ({ document, ...compile(document) }))
  .filter(({ policy, diagnostics }) => {
    const wrong = diagnostics.find(({ severity, code }) => severity === 'error' && code !== 'ambiguous_grant');
    if (wrong !== undefined) throw new Error(`${wrong.code} ${wrong.path} ${wrong.message}`);
    return policy !== undefined;
  })
  .map(({ document, policy }) => ({ document, policy: policy as Policy }));
