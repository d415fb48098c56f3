import type { McpCall, PartGrant } from '../mcp/call.js';
import type { CallError } from '../mcp/errors.js';
import { UNKNOWN } from '../mcp/unknown-entry.js';
import { bounded } from '../connectors/bounded.js';
import { systemClock, type Clock } from '../resilience/clock.js';
import { CallNotes, type Pseudonym } from './call-notes.js';
import {
  ANCHORS,
  decideCall,
  entryOf,
  evaluate,
  NOT_CONSULTED,
  settle,
  type Allow,
  type Canonical,
  type Charge,
  type Consumption,
  type Decision,
  type Deny,
  type GovernedEntry,
  type Policy,
  type Principal,
  type SubjectFact,
} from './core/index.js';
import type { ExplainedCode } from './explanations.js';
import { GovernedGrants } from './governed-grants.js';
import { leaveOut } from './left-out.js';
import type { CredentialResolver, Now, UsageStore } from './ports.js';
import type { Recognition } from './recognition.js';
import { failedCall, hiddenCall, refusedCall, type Refused } from './refusal.js';
import { currentOf, type Current } from './current.js';
import type { ServedPolicy } from './served-policy.js';

/**
 * Longest wait for the usage store and for a secret, in milliseconds, where the call has that much left. Both are before the
 * source and outside its slot.
 */
const USAGE_MS = 1_000;
const CREDENTIAL_MS = 5_000;

export interface GatekeeperParts {
  readonly served: ServedPolicy | Current<ServedPolicy>;
  readonly recognition: Recognition;
  readonly usage: UsageStore;
  readonly credentials: CredentialResolver;
  readonly canonical: Canonical;
  readonly pseudonym: Pseudonym;
  readonly now: Now;
  readonly clock?: Clock;
  /** Longest time of one call at a source, in milliseconds; undefined = not known here, the source's executor keeps it. */
  readonly callDeadlineMs?: (source: string) => number | undefined;
}

type Result = Readonly<Record<string, unknown>>;

/**
 * The two steps of a governed call (issue 4). `decide`: who calls, what is it, may he. `consume`, after the arguments were
 * found valid: whose data, is there room under the ceilings, with which credential. Only then does anything run.
 */
export class Gatekeeper {
  readonly #parts: Required<GatekeeperParts>;
  readonly #notes: CallNotes;
  readonly #current: Current<ServedPolicy>;
  /** Of each policy: looked for once, or a name that is not there would take longer. */
  readonly #nothing = new WeakMap<Policy, GovernedEntry>();

  constructor(parts: GatekeeperParts) {
    this.#parts = { clock: systemClock, callDeadlineMs: () => undefined, ...parts };
    this.#current = currentOf(parts.served);
    this.#notes = new CallNotes(parts.canonical, parts.pseudonym);
  }

  /** Throws the CallError of a caller who is not recognised, of a denial, or of a name that is not there for him. */
  async decide(call: McpCall): Promise<void> {
    // Once per call: what it is decided, consumed and explained by (issue 5, point 7).
    const served = this.#current.now;
    const { policy, version } = served;
    const { now, clock } = this.#parts;
    const [at, startedAt] = [now(), clock.now()];
    const nothing = this.#nothingOf(policy);
    this.#notes.policy(call, version);
    const principal = await this.#principalOf(call, served);
    this.#notes.caller(call, principal);
    const entry = entryOf(policy, call.kind, call.name);
    const subject = subjectBefore(call);
    // A name that is not there is decided too, for somebody whom nothing is granted: the same steps as for a hidden one.
    const [looked, asking] = entry === undefined ? [nothing, NOBODY] : [entry, principal];
    const decisions = decideCall(policy, looked, { principal: asking, subject: subject ?? NOT_CONSULTED, at });
    const seen = evaluate(policy.ruleset, {
      ...{ principal: asking, capability: looked.capability, at },
      ...{ subject: NOT_CONSULTED, usage: NOT_CONSULTED },
    });
    if (entry === undefined) {
      this.#notes.unmapped(call);
      this.#asIfThere(call);
      throw call.name === UNKNOWN ? hiddenCall('not_found', 'failure') : hiddenCall('not_mapped', 'denied');
    }
    const { own } = decisions;
    if (own.outcome === 'deny') {
      this.#notes.denied(call, own);
      throw seen.outcome === 'allow' ? this.#refused(call, own, served) : hiddenCall(own.reason.code, 'denied');
    }
    const known = subject === undefined ? undefined : decisions;
    call.grants = new GovernedGrants(entry, principal, known, at, startedAt, served);
  }

  /** Throws the CallError of a denial, of a credential that cannot be read, or of an identifier that is none. */
  async consume(call: McpCall): Promise<void> {
    const grants = grantsOf(call);
    const { entry, principal, at, served } = grants;
    const { policy } = served;
    const decisions = grants.decisions ?? decideCall(policy, entry, { principal, subject: subjectAfter(call), at });
    const own = await this.#settled(call, decisions.own, at);
    if (own.outcome === 'deny') {
      this.#notes.denied(call, own);
      throw this.#refused(call, own, served);
    }
    this.#notes.allowed(call, own);
    const parts = new Map<string, Allow>();
    // One after the other: a ceiling that two parts share is consumed in an order that does not depend on luck.
    for (const part of entry.parts) {
      const decision = await this.#part(call, part, decisions.parts.get(part), at);
      if (decision !== undefined) parts.set(part, decision);
    }
    grants.omissions = { own: own.omit, parts: new Map([...parts].map(([part, { omit }]) => [part, omit])) };
    await this.#admit(call, grants, own, parts);
  }

  /** What its caller may have of the result. */
  leaveOut(call: McpCall, result: Result): Result {
    const cut = leaveOut(call.entry, result, grantsOf(call).omissions);
    if (cut !== result) call.judged = call.entry.outcome(result);
    return cut;
  }

  /** Stands for a name that is not there: looked at as a hidden one is, so that neither takes longer (spec W-4). */
  #nothingOf(policy: Policy): GovernedEntry {
    let nothing = this.#nothing.get(policy);
    if (nothing === undefined) {
      nothing = {
        ...{ kind: 'tool', exposedName: '', upstream: '', transport: 'local', name: '' },
        ...{ path: ANCHORS.upstreams, parts: [], capability: mostGranted(policy) },
      };
      this.#nothing.set(policy, nothing);
    }
    return nothing;
  }

  /** What the audit has done for a hidden name: reading whose data are asked for, and the pseudonym. Thrown away. */
  #asIfThere({ entry, input }: McpCall): void {
    try {
      const canonical = entry.subjectIfThere?.(input) ?? null;
      if (canonical !== null) this.#parts.pseudonym(canonical);
    } catch {
      // An identifier that is none is nothing to an entry that is none.
    }
  }

  async #principalOf(call: McpCall, served: ServedPolicy): Promise<Principal> {
    const { refused } = call.caller;
    if (refused !== undefined) {
      call.journal.note('principal', null);
      throw refused(call.correlationId);
    }
    const found = await this.#parts.recognition.principalOf(call.caller, call.signal, served);
    if (found.ok) return found.principal;
    call.journal.note('principal', null);
    throw refusedCall(this.#refusal(call, found.problem, ANCHORS.issuers, served), call.kind, true);
  }

  async #part(call: McpCall, part: string, decision: Decision | undefined, at: number): Promise<Allow | undefined> {
    if (decision === undefined) {
      call.journal.part(part, 'not_mapped');
      return undefined;
    }
    const settled = await this.#settled(call, decision, at);
    if (settled.outcome === 'allow') {
      this.#notes.allowed(call, settled, part);
      return settled;
    }
    this.#notes.denied(call, settled, part);
    call.journal.part(part, settled.reason.code);
    return undefined;
  }

  async #settled(call: McpCall, decision: Decision, at: number): Promise<Decision> {
    if (decision.outcome === 'deny' || decision.charges.length === 0) return decision;
    return settle(decision, await this.#charge(call, decision.charges, at));
  }

  async #charge(call: McpCall, charges: readonly Charge[], at: number): Promise<Consumption> {
    const { usage, clock } = this.#parts;
    const named = charges.map((charge) => this.#withoutNames(charge));
    try {
      const bounds = { clock, limitMs: this.#atMost(USAGE_MS, call), signal: call.signal };
      return await bounded((signal) => usage.tryConsume(named, at, signal), bounds);
    } catch {
      // Whatever it was, what is not known is exhausted; the caller's own leaving is no question of usage.
      call.signal.throwIfAborted();
      return { kind: 'unknown' };
    }
  }

  #withoutNames(charge: Charge): Charge {
    return charge.kind === 'subjects' && charge.subject !== undefined
      ? { ...charge, subject: this.#parts.pseudonym(charge.subject) }
      : charge;
  }

  /** A composite runs nothing in its own name: only the accounts of its parts are asked for. */
  async #admit(call: McpCall, grants: GovernedGrants, own: Allow, parts: ReadonlyMap<string, Allow>): Promise<void> {
    const { entry, served } = grants;
    if (entry.parts.length === 0) {
      const grant = await this.#grant(call, own, served);
      if (grant.failed !== undefined) {
        const path = served.policy.accounts.get(own.account)?.path ?? own.reason.path;
        throw failedCall(this.#refusal(call, 'credential_unresolved', path, served));
      }
      grants.set(call.name, grant);
      return;
    }
    grants.set(call.name, { allowed: true, accounts: new Map() });
    const resolved = await Promise.all(
      [...parts].map(async ([part, allow]) => [part, await this.#grant(call, allow, served)] as const),
    );
    for (const [part, grant] of resolved) grants.set(part, grant);
  }

  async #grant(call: McpCall, { account }: Allow, served: ServedPolicy): Promise<PartGrant> {
    const { requires } = call.entry;
    if (requires.length === 0) return { allowed: true, accounts: new Map() };
    const { credentials, clock } = this.#parts;
    const record = served.policy.accounts.get(account);
    if (record === undefined) return { allowed: false };
    try {
      const bounds = { clock, limitMs: this.#atMost(CREDENTIAL_MS, call), signal: call.signal };
      const { epoch, secret } = await bounded(
        (signal) => credentials.resolve(account, record.secretRef, signal),
        bounds,
      );
      const used = { key: account, secret: { epoch, secret } };
      const accounts = new Map(requires.map((source) => [source, used]));
      return { allowed: true, accounts, deadlines: this.#deadlinesOf(call) };
    } catch {
      call.signal.throwIfAborted();
      return { allowed: true, failed: 'credential_unresolved' };
    }
  }

  /** One deadline for a call: what was waited for here is no longer there for the source. Instants of the clock. */
  #deadlinesOf(call: McpCall): ReadonlyMap<string, number> {
    const { startedAt } = grantsOf(call);
    const known = call.entry.requires.flatMap((source): [string, number][] => {
      const milliseconds = this.#parts.callDeadlineMs(source);
      return milliseconds === undefined ? [] : [[source, startedAt + milliseconds]];
    });
    return new Map(known);
  }

  /** `milliseconds`, or what the call has left if that is less. */
  #atMost(milliseconds: number, call: McpCall): number {
    const left = Math.min(...this.#deadlinesOf(call).values()) - this.#parts.clock.now();
    return Math.max(0, Math.min(milliseconds, left));
  }

  #refused(call: McpCall, { reason }: Deny, served: ServedPolicy): CallError {
    return refusedCall(this.#refusal(call, reason.code, reason.path, served), call.kind);
  }

  #refusal(call: McpCall, code: ExplainedCode, path: string, { locate }: ServedPolicy): Refused {
    return { code, path, locate, requestId: call.correlationId, language: call.caller.language };
  }
}

/** A principal of no issuer, whom no grant selects. */
const NOBODY: Principal = {
  id: '' as Principal['id'],
  issuer: '',
  subject: '',
  attributes: new Map(),
  identifiers: new Map(),
};

/** The capability with the most grants to go through before none is found to match. */
function mostGranted({ capabilities, ruleset }: Policy): string {
  const grants = (id: string): number => ruleset.grants.get(id)?.length ?? 0;
  return capabilities.reduce((most, { id }) => (grants(id) > grants(most) ? id : most), capabilities[0]?.id ?? '');
}

function grantsOf(call: McpCall): GovernedGrants {
  if (call.grants instanceof GovernedGrants) return call.grants;
  throw new Error('the call has not been decided');
}

/** Undefined: not to be known before the arguments are validated; until then nobody in particular is asked about. */
function subjectBefore(call: McpCall): SubjectFact | undefined {
  if (call.entry.hasSubject === false) return { kind: 'none' };
  try {
    const canonical = call.subject();
    return canonical === null ? undefined : { kind: 'is', canonical };
  } catch {
    // The identifier's own error is thrown again when the arguments are otherwise valid.
    return undefined;
  }
}

/** Throws the CallError of an identifier that cannot be parsed: a malformed call consumes nothing. */
function subjectAfter(call: McpCall): SubjectFact {
  const canonical = call.subject();
  return canonical === null ? { kind: 'none' } : { kind: 'is', canonical };
}
