import { isDeepStrictEqual } from 'node:util';
import type { EventLog, Fields } from '../logging/event-log.js';
import type { Current } from './current.js';
import { diff, type Change, type Difference, type Effect, type Policy } from './core/index.js';
import type { LoadedForService } from './load-served.js';
import { logDiagnostics } from './policy-log.js';
import type { PrincipalResolver } from './ports.js';
import type { ServedPolicy } from './served-policy.js';
import { remoteUpstreams, type UpstreamTools } from './upstreams/upstream-tools.js';

export interface ReloadParts {
  readonly current: Current<ServedPolicy>;
  /** Reads artefact and declared catalogue together, and discovers nothing: `running` is what is known. */
  readonly load: (running: UpstreamTools, check: (policy: Policy) => void) => Promise<LoadedForService>;
  readonly resolverOf: (policy: Policy) => Promise<PrincipalResolver>;
  /** A header for certificates is configured. */
  readonly certificates?: boolean;
  /** Prepares what lists and calls find; throws when it cannot be served. What it gives puts it in place. */
  readonly prepare: (tools: UpstreamTools) => () => void;
  /** After the swap: what no longer counts is let go. */
  readonly served: (next: ServedPolicy) => void;
  /** `mcp_corp.governance`. */
  readonly log: EventLog;
}

export type ReloadOutcome = 'reloaded' | 'unchanged' | 'refused';

/** Lines of the log that one reload may take to say what it changes. */
const MOST_CHANGES = 50;

/**
 * Law (issue 5, point 7): everything is made beside what is served, and put in its place by one assignment; what fails changes
 * nothing and says why. Upstreams are those of the start: another one, or another way to one, is a restart.
 */
export class PolicyReload {
  #running: Promise<ReloadOutcome> | undefined;
  #again = false;

  constructor(private readonly parts: ReloadParts) {}

  /** One at a time; one that is asked for meanwhile follows. Never rejects. */
  reload(): Promise<ReloadOutcome> {
    if (this.#running !== undefined) {
      this.#again = true;
      return this.#running;
    }
    this.#running = this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<ReloadOutcome> {
    let outcome: ReloadOutcome;
    do {
      this.#again = false;
      outcome = await this.#once();
    } while (this.#again);
    return outcome;
  }

  async #once(): Promise<ReloadOutcome> {
    const { current, load, resolverOf, log } = this.parts;
    const before = current.now;
    let loaded: LoadedForService;
    let resolver: PrincipalResolver | undefined;
    try {
      loaded = await load(before.tools ?? new Map(), (policy) => refuseOthers(before.policy, policy));
      resolver = loaded.policy && (await resolverOf(loaded.policy));
    } catch (error) {
      if (error instanceof RestartNeededError)
        return this.#refuse(before, {
          ...{ reason: 'upstreams', upstream: error.upstream },
          detail: 'an upstream is new or is reached in another way: restart the server',
        });
      const { name, code, message } = error as { name?: unknown; code?: unknown; message?: unknown };
      const why = name === 'DeclaredCatalogueError' ? message : undefined;
      return this.#refuse(before, { reason: 'unreadable', error: name, code, detail: why });
    }
    const { policy, version, locate, tools } = loaded;
    if (policy === undefined || resolver === undefined) {
      logDiagnostics(log, loaded);
      return this.#refuse(before, { reason: 'errors', refused_version: version, detail: 'see policy_diagnostic' });
    }
    if (version === before.version && isDeepStrictEqual(tools, before.tools)) {
      log.info('policy_reload_unchanged', { policy_version: version });
      return 'unchanged';
    }
    return this.#swap(before, { policy, version, locate, tools, resolver }, loaded);
  }

  #swap(
    before: ServedPolicy,
    next: ServedPolicy & { readonly tools: UpstreamTools },
    loaded: LoadedForService,
  ): ReloadOutcome {
    const { current, prepare, served, certificates, log } = this.parts;
    let commit: () => void;
    try {
      commit = prepare(next.tools);
    } catch (error) {
      log.error('policy_reload_refused', { ...{ reason: 'catalogue', policy_version: before.version } }, error);
      return 'refused';
    }
    // In one turn: whoever looks sees both or neither.
    commit();
    current.replace(next);
    served(next);
    logDiagnostics(log, loaded, certificates);
    this.#tell(before, next);
    return 'reloaded';
  }

  #tell(before: ServedPolicy, next: ServedPolicy): void {
    const { log } = this.parts;
    const found = diff({ policy: before.policy, diagnostics: [] }, { policy: next.policy, diagnostics: [] });
    const changes = found.comparable ? found.changes : [];
    log.warning('policy_reloaded', {
      ...{ policy_version: next.version, previous_version: before.version, changes: changes.length },
      ...countsOf(found),
    });
    for (const change of changes.slice(0, MOST_CHANGES)) log.warning('policy_change', fieldsOf(change));
  }

  #refuse(before: ServedPolicy, fields: Fields): ReloadOutcome {
    this.parts.log.error('policy_reload_refused', { ...fields, policy_version: before.version });
    return 'refused';
  }
}

class RestartNeededError extends Error {
  constructor(readonly upstream: string) {
    super('an upstream that the running catalogue does not have');
  }
}

/** Throws for the first remote upstream that the running policy does not have, or has elsewhere. */
function refuseOthers(before: Policy, after: Policy): void {
  const known = remoteUpstreams(before);
  for (const [id, transport] of remoteUpstreams(after))
    if (!isDeepStrictEqual(known.get(id), transport)) throw new RestartNeededError(id);
}

const countsOf = (found: Difference): Fields =>
  found.comparable
    ? {
        ...{ grants_removed: found.grants.removed.length, grants_added: found.grants.added.length },
        ...{ entries: found.entries.length, identities: found.identities },
      }
    : {};

/** Without the values of attributes: they can be somebody's identifier. */
const fieldsOf = ({ issuer, attributes, capability, subject, before, after }: Change): Fields => ({
  ...{ issuer, attributes: [...attributes.keys()], capability },
  subject: typeof subject === 'string' ? subject : `own ${subject.own}`,
  ...{ before: told(before), after: told(after) },
});

const told = (effect: Effect | undefined): Fields | null =>
  effect === undefined
    ? null
    : {
        ...{ outcome: effect.outcome, code: effect.code, account: effect.account },
        calls: effect.calls.map(({ limit, per }) => `${limit}/${per}`),
        subjects: effect.distinctSubjects.map(({ limit, per }) => `${limit}/${per}`),
        omit: [...effect.omit],
      };
