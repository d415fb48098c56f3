import type { McpCall } from '../mcp/call.js';
import type { Allow, Canonical, Deny, Principal } from './core/index.js';

/** What one person is called where his identifier must not stand: the audit's own pseudonym. */
export type Pseudonym = (canonical: string) => string;

/**
 * The truth for the audit: principal, account, grant or the place of the refusal, and which policy. An identifier that a
 * policy has made somebody's name is written as its pseudonym, like every other.
 */
export class CallNotes {
  constructor(
    private readonly canonical: Canonical,
    private readonly pseudonym: Pseudonym,
  ) {}

  policy(call: McpCall, version: string): void {
    call.journal.note('policy_version', version);
  }

  caller(call: McpCall, { id, issuer, subject }: Principal): void {
    const identifier = this.canonical(subject);
    call.journal.note('principal', identifier === undefined ? id : `${issuer}:${this.pseudonym(identifier)}`);
  }

  allowed(call: McpCall, { account, reason }: Allow, part?: string): void {
    call.journal.note(named('account', part), account);
    call.journal.note(named('grant', part), reason.path);
  }

  denied(call: McpCall, { reason }: Deny, part?: string): void {
    call.journal.note(named('pointer', part), reason.path);
  }
}

const named = (field: string, part: string | undefined): string => (part === undefined ? field : `${field}_${part}`);
