import type { GrantDocument, PolicyDocument } from '../../src/governance/core/index.js';

type Draft = { -readonly [Key in keyof PolicyDocument]: PolicyDocument[Key] };

/** Keys and credentials of `policyWith`, as the environment holds them. */
export const ENV = {
  KEY_ANA: 'llave-de-ana-0123456789',
  KEY_BETO: 'llave-de-beto-0123456789',
  KEY_NADIE: 'llave-de-nadie-0123456789',
  DSN_LECTOR: 'postgresql://lector:clave-del-lector@localhost/clientes',
  TOKEN_CAJERO: 'token-del-cajero-0123456789',
  TOKEN_OTRO: 'token-de-otro-0123456789',
} as const;

/** Ana, Beto and Nadie with a static key each, four capabilities, three accounts, and the grants that a test gives. */
export function policyWith(
  grants: readonly GrantDocument[],
  change: (draft: Draft) => void = () => undefined,
): PolicyDocument {
  const draft: Draft = {
    version: 1,
    capabilities: [
      ...['cliente.leer', 'saldo.leer', 'resumen.leer', 'estados.leer', 'flujo.usar'].map((id) => ({ id })),
    ],
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
        prompts: [{ name: 'atencion_cliente', capability: 'flujo.usar' }],
      },
    ],
    accounts: [
      { id: 'lector', secret: { ref: 'env://DSN_LECTOR' } },
      { id: 'cajero', secret: { ref: 'env://TOKEN_CAJERO' } },
      { id: 'otro', secret: { ref: 'env://TOKEN_OTRO' } },
    ],
    principals: {
      issuers: [
        issuer('ana', 'env://KEY_ANA', { unidad: 'atencion', cedula: 'V-16.760.320' }),
        issuer('beto', 'env://KEY_BETO', { unidad: 'caja' }),
        issuer('nadie', 'env://KEY_NADIE', {}),
      ],
    },
    grants,
  };
  change(draft);
  return draft;
}

const issuer = (id: string, ref: string, attributes: Record<string, string>) =>
  ({ id, kind: 'static-key', subject: `persona-${id}`, secret: { ref }, attributes }) as const;

export const toAna = (
  capabilities: readonly string[],
  using: string,
  more: Partial<GrantDocument> = {},
): GrantDocument => ({
  to: { issuer: 'ana' },
  capabilities,
  using,
  ...more,
});

export const toBeto = (
  capabilities: readonly string[],
  using: string,
  more: Partial<GrantDocument> = {},
): GrantDocument => ({
  ...toAna(capabilities, using, more),
  to: { issuer: 'beto' },
});
