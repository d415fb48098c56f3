import type { McpCall } from '../mcp/call.js';
import { ANCHORS, type Allow, type Canonical, type Deny, type Principal } from './core/index.js';

/** What one person is called where his identifier must not stand: the audit's own pseudonym. */
export type Pseudonym = (canonical: string) => string;

/** An e-mail address or a full name, as providers and certificates like to call people. */
const NAMES_A_PERSON = /[@\s]|[^\x20-\x7e]/;

/**
 * The truth for the audit: principal, account, grant or the place of the refusal, and which policy. An identifier that a
 * policy or a provider has made somebody's name is written as its pseudonym, like every other; so is an address or a name.
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
    const identifier = this.canonical(subject) ?? (NAMES_A_PERSON.test(subject) ? subject : undefined);
    call.journal.note('principal', identifier === undefined ? id : `${issuer}:${this.pseudonym(identifier)}`);
  }

  allowed(call: McpCall, { account, reason }: Allow, part?: string): void {
    call.journal.note(named('account', part), account);
    call.journal.note(named('grant', part), reason.path);
  }

  /** A name that no mapping has: its place is that of all mappings. */
  unmapped(call: McpCall): void {
    call.journal.note('pointer', ANCHORS.upstreams);
  }

  denied(call: McpCall, { reason }: Deny, part?: string): void {
    call.journal.note(named('pointer', part), reason.path);
  }
}

const named = (field: string, part: string | undefined): string => (part === undefined ? field : `${field}_${part}`);
