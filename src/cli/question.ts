import type { ExplainQuestion, Policy } from '../governance/core/index.js';
import { CommandFailure, EXIT_CODES } from './exit-codes.js';
import type { Product } from './policy-argument.js';

/** A question as a person writes it: on the command line or in a file of expectations. */
export interface WrittenQuestion {
  readonly issuer: string;
  readonly subject?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly capability?: string;
  /** Instead of a capability: the name that callers see. */
  readonly entry?: string;
  /** Whose data, in any written form. */
  readonly about?: string;
  readonly usage?: number | 'unknown' | 'none';
  /** Milliseconds since the epoch. */
  readonly at?: number;
}

/** Throws CommandFailure (2) for what cannot be asked. */
export function questionOf(
  written: WrittenQuestion,
  policy: Policy,
  { canonical }: Product,
  now: number,
): ExplainQuestion {
  const { issuer, subject, attributes = {}, about, usage = 0, at = now } = written;
  const dataSubject = about === undefined ? undefined : canonical(about);
  if (about !== undefined && dataSubject === undefined)
    throw new CommandFailure(EXIT_CODES.usage, `'${about}' is not an identifier of a person or a company`);
  return {
    ...{ issuer, attributes, at, capability: capabilityOf(written, policy) },
    usage: usage === 'none' ? 'not-consulted' : usage,
    ...(subject !== undefined && { subject }),
    ...(dataSubject !== undefined && { dataSubject }),
  };
}

function capabilityOf({ capability, entry }: WrittenQuestion, policy: Policy): string {
  if ((capability === undefined) === (entry === undefined))
    throw new CommandFailure(EXIT_CODES.usage, 'name either a capability or an entry (a tool, a resource or a prompt)');
  if (capability !== undefined) return capability;
  const found = policy.entries.find(({ exposedName }) => exposedName === entry);
  if (found === undefined) throw new CommandFailure(EXIT_CODES.usage, `no mapping has '${entry}'`);
  return found.capability;
}
