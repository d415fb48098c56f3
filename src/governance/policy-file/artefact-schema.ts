import { WINDOW_PATTERN } from '../core/index.js';
import type { JsonSchema } from './json-schema.js';

const array = (items: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: 'array', items, ...more });
const text = (description?: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  ...(description && { description }),
});
const ref = (name: string): JsonSchema => ({ $ref: `#/$defs/${name}` });

function record(
  required: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
  description?: string,
): JsonSchema {
  return {
    type: 'object',
    ...(description && { description }),
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

const attributes = (description: string): JsonSchema => ({ type: 'object', description, additionalProperties: text() });

/**
 * The artefact, format version 1 (spec §2.2 and what issue 4 adds). For editors and for the server: see json-schema.ts. Every
 * object is closed, so that `deny: true` is an error and not a comment.
 */
export const ARTEFACT_SCHEMA: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:mcp-corp:schema:policy:1',
  title: 'mcp-corp policy',
  ...record(
    {
      version: { const: 1, description: 'Format version.' },
      capabilities: array(ref('capability'), { description: 'The terms that grants are written in.' }),
      accounts: array(ref('account'), { description: 'With whose credential calls are run.' }),
      principals: record({ issuers: array(ref('issuer')) }, {}, 'How callers are recognised.'),
      grants: array(ref('grant'), {
        description: 'Who may do what, and with which account. What is not granted is denied.',
      }),
    },
    {
      upstreams: array(ref('upstream'), {
        description: 'What really exists, mapped to capabilities. Unmapped means invisible.',
      }),
    },
  ),
  $defs: {
    capabilityId: {
      type: 'string',
      pattern: '^[a-z0-9]+([.-][a-z0-9]+)*$',
      description: "lower-case words joined by '.' or '-'",
      examples: ['cliente.leer'],
    },
    identifier: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]*$', description: "lower-case letters, digits and '-'" },
    window: {
      type: 'string',
      pattern: WINDOW_PATTERN,
      description: 'seconds, minutes, hours or days',
      examples: ['90s', '15m', '1h', '7d'],
    },
    secret: record(
      {
        ref: {
          type: 'string',
          pattern: '^[a-z][a-z0-9+.-]*://.+',
          description: 'a reference, never the secret itself',
          examples: ['env://CLIENTES_DSN', 'file:///run/secrets/clientes'],
        },
      },
      {},
    ),
    capability: record({ id: ref('capabilityId') }, { description: { type: 'string' } }),
    upstream: record(
      {
        id: ref('identifier'),
        transport: ref('transport'),
        tools: array(record({ name: text(), capability: ref('capabilityId') })),
      },
      {
        resources: array(ref('resource')),
        prompts: array(record({ name: text(), capability: ref('capabilityId') })),
      },
    ),
    transport: {
      oneOf: [
        record(
          { kind: { const: 'local' } },
          {},
          'The tools, resources and prompts of this very server, under their own names.',
        ),
        record(
          { kind: { const: 'mcp-stdio' }, command: text() },
          { args: array({ type: 'string' }) },
          'A child process.',
        ),
        record(
          {
            kind: { const: 'mcp-http' },
            url: { type: 'string', pattern: '^https?://[^\\s/]+', description: 'http or https' },
          },
          {},
          'Streamable HTTP.',
        ),
      ],
    },
    resource: {
      oneOf: [
        record({ uri: text(), capability: ref('capabilityId') }, {}, 'A resource by its URI.'),
        record({ name: text(), capability: ref('capabilityId') }, {}, 'A resource by its name.'),
      ],
    },
    account: record(
      { id: ref('identifier'), secret: ref('secret') },
      { disabled: { type: 'boolean', default: false, description: 'Revokes the account: what it runs is denied.' } },
    ),
    issuer: record(
      { id: ref('identifier'), kind: { enum: ['oidc', 'static-key', 'mtls'] } },
      {
        discovery: { type: 'string', pattern: '^https?://[^\\s/]+', description: 'http or https' },
        audience: text('expected `aud` of a token (oidc)'),
        scopes: array(
          { type: 'string', pattern: '^[!#-\\[\\]-~]+$' },
          { description: 'scopes that a token must all have (oidc)' },
        ),
        subject: text('whom the key identifies (static-key)'),
        secret: ref('secret'),
        attributes: attributes(
          'By name: `claim:<name>` (oidc), `dn:<component>` (mtls), the value itself (static-key).',
        ),
      },
    ),
    grant: record(
      {
        to: record(
          { issuer: ref('identifier') },
          { attributes: attributes('All must be equal; none = everybody of the issuer.') },
        ),
        capabilities: array(ref('capabilityId'), { minItems: 1 }),
        using: ref('identifier'),
      },
      {
        limits: record(
          { calls: { type: 'integer', minimum: 0, description: '0 suspends the grant' }, per: ref('window') },
          {},
          'Ceiling of calls per principal and capability. Every matching ceiling is enforced.',
        ),
        subject: record(
          { equals: text('an attribute of the principal') },
          {},
          'Whose data: only that of the principal.',
        ),
        distinctSubjects: record(
          { count: { type: 'integer', minimum: 0, description: '0 suspends the grant' }, per: ref('window') },
          {},
          'How many different people or companies a principal may ask about.',
        ),
        omit: array(text("a field's name, or its dotted path"), { description: 'Fields left out of results.' }),
      },
    ),
  },
};
