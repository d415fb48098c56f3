import type { OnApplicationShutdown } from '@nestjs/common';
import type * as RedisModule from '@redis/client';
import { TimeLimitError } from '../../connectors/bounded.js';
import type { EventLog } from '../../logging/event-log.js';
import type { Clock } from '../../resilience/clock.js';
import type { Charge } from '../core/index.js';
import type { UsageStore } from '../ports.js';
import { COUNT_SCRIPT } from './redis-script.js';

/** Milliseconds. The gatekeeper itself waits one second for usage. */
const CONNECT_MS = 800;
const ANSWER_MS = 900;

/** One slot of a cluster for all counters: a script may touch no two. */
const PREFIX = 'mcp-corp:{usage}:';

/** As much of the client as is used; the package is loaded only where it is configured. */
export type Redis = Pick<typeof RedisModule, 'createClient'>;

interface Link {
  readonly client: ReturnType<typeof connection>;
  /** Settles when it is connected and logged in, or cannot be. */
  readonly ready: Promise<unknown>;
}

export interface RedisUsageParts {
  readonly redis: Redis;
  /** `redis://` or `rediss://`. */
  readonly url: string;
  /** What a counter is called where its principal must not stand; the same on every replica. */
  readonly fingerprint: (key: string) => string;
  readonly log: EventLog;
  readonly clock: Clock;
  /** Authorities instead of Node's own (`NODE_EXTRA_CA_CERTS`). */
  readonly ca?: string;
}

/**
 * Usage that all replicas share. One script looks at all charges and counts all or none, in one step of the server. Whatever
 * goes wrong (no connection, no answer in time, a server that may not write) is thrown, and so is "not known": nothing is
 * queued, nothing sent twice, and memory never stands in. A connection that failed is replaced by the next call.
 */
export class RedisUsage implements UsageStore, OnApplicationShutdown {
  #link: Link | undefined;
  #failing = false;

  constructor(private readonly parts: RedisUsageParts) {}

  async tryConsume(
    charges: readonly Charge[],
    at: number,
    signal: AbortSignal,
  ): Promise<{ kind: 'consumed' } | { kind: 'exhausted'; key: string }> {
    signal.throwIfAborted();
    const keys = charges.map(({ key }) => PREFIX + this.parts.fingerprint(key));
    const terms = charges.flatMap((charge) => [
      ...[charge.kind, String(charge.limit), String(charge.windowMs)],
      charge.kind === 'subjects' ? (charge.subject ?? '') : '',
    ]);
    const full = await this.#told(() =>
      this.#run(['EVAL', COUNT_SCRIPT, String(keys.length), ...keys, String(at), ...terms]),
    );
    if (full === 0) return { kind: 'consumed' };
    const spent = typeof full === 'number' ? charges[full - 1] : undefined;
    if (spent === undefined) throw new Error('the usage store answered what it cannot have been asked');
    return { kind: 'exhausted', key: spent.key };
  }

  onApplicationShutdown(): void {
    if (this.#link !== undefined) this.#drop(this.#link);
  }

  #run(command: string[]): Promise<unknown> {
    const link = (this.#link ??= this.#open());
    return new Promise((resolve, reject) => {
      // A server that does not answer one command answers no other: the connection is given up, and all that wait on it.
      let answered = false;
      const cancel = this.parts.clock.after(ANSWER_MS, () => {
        // After whatever has arrived is read: this process may have been the slow one.
        setImmediate(() => {
          if (answered) return;
          this.#drop(link);
          reject(new TimeLimitError());
        });
      });
      link.ready
        .then(() => link.client.sendCommand(command))
        .then(resolve, reject)
        .finally(() => {
          answered = true;
          cancel();
        });
    });
  }

  #open(): Link {
    const client = connection(this.parts);
    const link: Link = { client, ready: client.connect() };
    // Its errors reach whoever waits for an answer; without a listener they would end the process.
    client.on('error', () => this.#drop(link));
    client.on('end', () => this.#drop(link));
    link.ready.catch(() => this.#drop(link));
    return link;
  }

  #drop(link: Link): void {
    if (this.#link === link) this.#link = undefined;
    // Harmless when it is destroyed already; one that never connected still holds what it began with.
    link.client.destroy();
  }

  /** An outage is told when it begins and when it ends. The address is not in it, nor is any key. */
  async #told<T>(work: () => Promise<T>): Promise<T> {
    try {
      const value = await work();
      if (this.#failing) this.parts.log.info('usage_store_recovered');
      this.#failing = false;
      return value;
    } catch (error) {
      if (!this.#failing) this.parts.log.error('usage_store_unusable', { code: codeOf(error) });
      this.#failing = true;
      throw error;
    }
  }
}

const connection = ({ redis, url, ca }: RedisUsageParts) =>
  redis.createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    socket: {
      connectTimeout: CONNECT_MS,
      reconnectStrategy: false,
      ...(url.startsWith('rediss:') && {
        tls: true as const,
        rejectUnauthorized: true,
        ...(ca !== undefined && { ca }),
      }),
    },
  });

function codeOf(error: unknown): string {
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (typeof code === 'string' && /^[A-Z0-9_]{2,64}$/.test(code)) return code;
  // The word with which a server begins its refusals: NOAUTH, READONLY, OOM, NOPERM, …
  return /^([A-Z]{2,20}) /.exec(message)?.[1] ?? name;
}
