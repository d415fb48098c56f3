import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type Clock, systemClock } from '../resilience/clock.js';

/**
 * Law 9: a source whose name server hangs must not take another source's threads. `dns.lookup` occupies one thread of
 * libuv's shared pool for as long as it hangs, so each source owns one resolver, and that resolver
 *
 * 1. asks at most once at a time for one name, however many connections wait (single flight);
 * 2. remembers the answer for a few seconds;
 * 3. keeps the last good address for ever: when a later question fails or hangs, that address is used after a short wait;
 * 4. never keeps a caller waiting longer than a bound, although the question itself cannot be taken back;
 * 5. answers IP literals and `localhost` by itself.
 */
export interface SourceResolverOptions {
  /** Asks the system for every address of a name. Injected by the tests. */
  readonly ask?: (hostname: string) => Promise<readonly LookupAddress[]>;
  readonly clock?: Clock;
  /** How long an answer is used without asking again. Milliseconds. */
  readonly freshMs?: number;
  /** How long a new question may take before the last good address is used instead. Milliseconds. */
  readonly patienceMs?: number;
  /** How long a caller waits when there is no last good address. Milliseconds. */
  readonly giveUpMs?: number;
}

type Addresses = readonly LookupAddress[];

interface Known {
  readonly addresses: Addresses;
  /** Instant until which nobody asks again. */
  freshUntil: number;
}

interface Flight {
  readonly answer: Promise<Addresses>;
  readonly since: number;
}

/** Names that one source may have in memory; a source has one or two, redirects are not followed. */
const MAX_NAMES = 16;

const LOCALHOST: Addresses = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

const askSystem = (hostname: string): Promise<Addresses> =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });

export class SourceResolver {
  readonly #ask: (hostname: string) => Promise<Addresses>;
  readonly #clock: Clock;
  readonly #freshMs: number;
  readonly #patienceMs: number;
  readonly #giveUpMs: number;
  readonly #known = new Map<string, Known>();
  readonly #flights = new Map<string, Flight>();

  constructor(options: SourceResolverOptions = {}) {
    this.#ask = options.ask ?? askSystem;
    this.#clock = options.clock ?? systemClock;
    this.#freshMs = options.freshMs ?? 5_000;
    this.#patienceMs = options.patienceMs ?? 250;
    this.#giveUpMs = options.giveUpMs ?? 5_000;
  }

  /** For `net.connect`, `tls.connect` and http agents. Errors carry a `code` as those of `dns.lookup`, but no host name. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const answer = this.#known.get(hostname);
    const ready = literal(hostname) ?? (answer && this.#clock.now() < answer.freshUntil ? answer.addresses : undefined);
    if (ready) {
      // Never in the same turn: net.connect has not returned its socket yet, so nobody could listen to it.
      process.nextTick(deliver, ready, options, callback);
      return;
    }
    this.#resolve(hostname).then(
      (addresses) => deliver(addresses, options, callback),
      (error: unknown) => callback(error as NodeJS.ErrnoException, '', 0),
    );
  };

  #resolve(hostname: string): Promise<Addresses> {
    const flight = this.#flights.get(hostname) ?? this.#depart(hostname);
    const lastGood = this.#known.get(hostname)?.addresses;
    // Measured from the question, not from the caller: once a name server hangs, only its first callers pay for it.
    const left = (lastGood ? this.#patienceMs : this.#giveUpMs) - (this.#clock.now() - flight.since);
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(Math.max(0, left), () => {
        if (lastGood) resolve(lastGood);
        else reject(lookupError('ETIMEOUT'));
      });
      flight.answer.then(resolve, (error: unknown) => {
        if (lastGood) resolve(lastGood);
        else reject(lookupError(codeOf(error)));
      });
      const settled = (): void => cancel();
      flight.answer.then(settled, settled);
    });
  }

  #depart(hostname: string): Flight {
    const answer = this.#ask(hostname).then((addresses) => {
      if (addresses.length === 0) throw lookupError('ENOTFOUND');
      return addresses;
    });
    const flight: Flight = { answer, since: this.#clock.now() };
    this.#flights.set(hostname, flight);
    answer.then(
      (addresses) => {
        this.#flights.delete(hostname);
        this.#remember(hostname, addresses);
      },
      () => {
        this.#flights.delete(hostname);
        // A name server that answers "no" at once is not asked by every connection either, while an address is known.
        const known = this.#known.get(hostname);
        if (known) known.freshUntil = this.#clock.now() + this.#freshMs;
      },
    );
    return flight;
  }

  #remember(hostname: string, addresses: Addresses): void {
    this.#known.delete(hostname);
    if (this.#known.size >= MAX_NAMES) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.set(hostname, { addresses, freshUntil: this.#clock.now() + this.#freshMs });
  }
}

function literal(hostname: string): Addresses | undefined {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  return hostname.toLowerCase() === 'localhost' ? LOCALHOST : undefined;
}

/** Node asks with `all: true` when it may try several addresses (autoSelectFamily), else for one. */
function deliver(addresses: Addresses, options: LookupOptions, callback: Parameters<LookupFunction>[2]): void {
  const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : (options.family ?? 0);
  const fitting = family === 0 ? addresses : addresses.filter((address) => address.family === family);
  const [first] = fitting;
  if (!first) callback(lookupError('ENOTFOUND'), '', 0);
  else if (options.all) callback(null, [...fitting]);
  else callback(null, first.address, first.family);
}

function lookupError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`name look-up failed: ${code}`), { code, syscall: 'getaddrinfo' });
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,39}$/.test(code) ? code : 'EAI_FAIL';
}
