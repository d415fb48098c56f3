import { newCorrelationId } from './correlation-id.js';
import type { Round } from './asking/round.js';
import type { Caller, CallKind, McpCall, PartGrant, SourceOptions } from './call.js';
import type { CallStream } from './call-stream.js';
import type { CompiledEntry } from './catalogue-entry.js';
import { Journal } from './journal.js';
import type { Inbound } from './inbound.js';
import type { CallSpan } from './observation.js';

const OPEN: PartGrant = { allowed: true };
const CLOSED: PartGrant = { allowed: false };

type Memo = { readonly value: string | null } | { readonly error: unknown };

/** The one implementation of `McpCall`. */
export class LiveCall implements McpCall {
  readonly kind: CallKind;
  readonly name: string;
  /** Version 4 UUID without its dashes, as the reference: 122 random bits, from a buffer that Node fills in advance. */
  readonly correlationId = newCorrelationId();
  readonly traceId: string | undefined;
  readonly caller: Caller;
  readonly journal = new Journal();
  grants: ReadonlyMap<string, PartGrant> | undefined;
  judged?: 'success' | 'partial';
  readonly #exchange: Inbound['exchange'];
  #subject: Memo | undefined;
  #raw: unknown;

  constructor(
    readonly entry: CompiledEntry,
    public input: unknown,
    { exchange, caller, parent }: Inbound,
    readonly stream?: CallStream,
    readonly round?: Round,
    readonly trace?: CallSpan,
  ) {
    this.kind = entry.kind;
    this.name = entry.name;
    this.caller = caller;
    this.traceId = trace === undefined ? parent?.traceId : trace.traceId;
    this.#exchange = exchange;
    this.#raw = input;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  subject(): string | null {
    this.#subject ??= this.#parseSubject();
    if ('error' in this.#subject) throw this.#subject.error;
    return this.#subject.value;
  }

  #parseSubject(): Memo {
    try {
      // From the raw arguments, whoever asks first: the answer must not depend on when it is asked for.
      return { value: this.entry.subject(this.#raw) };
    } catch (error) {
      return { error };
    }
  }

  /** Fails closed: once there are grants, what they do not name is refused. */
  part(name: string = this.name): PartGrant {
    return this.grants === undefined ? OPEN : (this.grants.get(name) ?? CLOSED);
  }

  options(source: string, part?: string, signal: AbortSignal = this.signal): SourceOptions {
    const grant = this.part(part);
    // Going on would use the source's own credentials in the name of somebody who may not.
    if (!grant.allowed || grant.failed !== undefined) {
      throw new Error(`a source was asked for in the name of a part that is not allowed`);
    }
    const account = grant.accounts?.get(source);
    if (grant.accounts !== undefined && account === undefined) {
      throw new Error('a source was asked for that the decision names no account for');
    }
    const deadline = grant.deadlines?.get(source);
    const touched = () => this.journal.touched(source);
    return { signal, touched, ...(account && { account }), ...(deadline !== undefined && { deadline }) };
  }
}
