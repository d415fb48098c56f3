import { isRecord } from '../json-schema.js';

/**
 * The few parameters that this server reads, checked by hand. The SDK takes any Standard Schema for that; its own (zod)
 * would cost more than the call, and its texts would repeat what the caller has sent.
 */
interface Schema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: T } | { readonly issues: readonly { message: string }[] };
    readonly types?: { readonly input: unknown; readonly output: T };
  };
}

function schema<T>(read: (params: Readonly<Record<string, unknown>>) => T | string): Schema<T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp-corp',
      validate: (value) => {
        const read_ = read(isRecord(value) ? value : {});
        return typeof read_ === 'string' ? { issues: [{ message: read_ }] } : { value: read_ };
      },
    },
  };
}

export interface Named {
  readonly name: string;
  readonly arguments: unknown;
}

export const named = schema<Named>((params) =>
  typeof params['name'] === 'string'
    ? { name: params['name'], arguments: params['arguments'] }
    : 'name must be a string',
);

export const located = schema<{ readonly uri: string }>((params) =>
  typeof params['uri'] === 'string' ? { uri: params['uri'] } : 'uri must be a string',
);

/** Lists are never paged, so no cursor was ever given out: each one is wrong. */
export const unpaged = schema<Record<string, never>>((params) =>
  params['cursor'] === undefined ? {} : 'invalid cursor',
);

export interface Completing {
  readonly kind: 'prompt' | 'template';
  /** Prompt name, or the URI template. */
  readonly name: string;
  readonly argument: string;
  readonly typed: string;
}

export const completing = schema<Completing>(({ ref, argument }) => {
  const { name, value } = isRecord(argument) ? argument : {};
  if (typeof name !== 'string' || typeof value !== 'string') return 'argument must have a name and a value';
  const { type, name: prompt, uri } = isRecord(ref) ? ref : {};
  const asked = { argument: name, typed: value };
  if (type === 'ref/prompt' && typeof prompt === 'string') return { kind: 'prompt', name: prompt, ...asked };
  if (type === 'ref/resource' && typeof uri === 'string') return { kind: 'template', name: uri, ...asked };
  return 'ref must name a prompt or a resource template';
});
