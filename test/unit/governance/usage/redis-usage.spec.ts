import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as redisClient from '@redis/client';
import fc from 'fast-check';
import type { Charge } from '../../../../src/governance/core/index.js';
import { MemoryUsage } from '../../../../src/governance/usage/memory-usage.js';
import { RedisUsage } from '../../../../src/governance/usage/redis-usage.js';
import { systemClock } from '../../../../src/resilience/clock.js';
import { makeCertificate } from '../../../support/certificates.js';
import { startRawServer } from '../../../support/http-server.js';
import { NO_REDIS, RedisProcess } from '../../../support/redis.js';
import { until } from '../../../support/until.js';

const { signal } = new AbortController();
const logged: string[] = [];
const log = {
  debug: () => undefined,
  info: (event: string) => void logged.push(event),
  warning: (event: string) => void logged.push(event),
  error: (event: string, fields?: object) => void logged.push(`${event} ${JSON.stringify(fields)}`),
};
const open: RedisUsage[] = [];
const usageOf = (url: string, ca?: string): RedisUsage => {
  const usage = new RedisUsage({
    ...{ redis: redisClient, url, log, clock: systemClock, fingerprint: (key) => Buffer.from(key).toString('hex') },
    ...(ca !== undefined && { ca }),
  });
  open.push(usage);
  return usage;
};
afterEach(() => {
  for (const usage of open.splice(0)) usage.onApplicationShutdown();
  logged.length = 0;
});

const calls = (key: string, limit: number, windowMs = 60_000): Charge => ({
  ...{ kind: 'calls', key, limit, windowMs, per: '1m', path: '/grants/0' },
});
const subjects = (key: string, limit: number, subject: string, windowMs = 60_000): Charge => ({
  ...calls(key, limit, windowMs),
  kind: 'subjects',
  subject,
});

// Where there is no redis-server the suite is skipped under that reason; `.ci/run` installs it, and fails when anything was skipped.
const described = NO_REDIS === undefined ? describe : describe.skip;
described(`usage in Redis${NO_REDIS === undefined ? '' : ` (skipped: ${NO_REDIS})`}`, () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await RedisProcess.start({ password: 'clave/:@' });
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  const look = async <T>(work: (client: redisClient.RedisClientType) => Promise<T>): Promise<T> => {
    const client = redisClient.createClient({ url: redis.url });
    await client.connect();
    try {
      return await work(client);
    } finally {
      client.destroy();
    }
  };

  it('counts as memory does, whatever is charged and whenever', async () => {
    const step = fc.record({
      after: fc.integer({ min: -300, max: 700 }),
      charges: fc.uniqueArray(
        fc.record({
          key: fc.constantFrom('a', 'b'),
          limit: fc.integer({ min: 0, max: 3 }),
          subject: fc.constantFrom(undefined, 'x', 'y', 'z'),
        }),
        { minLength: 1, maxLength: 3, selector: ({ key, subject }) => `${key}${subject === undefined}` },
      ),
    });
    const usage = usageOf(redis.url);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const memory = new MemoryUsage();
        run += 1;
        let at = 1_000_000;
        for (const { after, charges } of steps) {
          at += after;
          // A window of a minute in the store, of which the instants say that a thousandth is over: nothing expires meanwhile.
          const all = charges.map(({ key, limit, subject }) =>
            subject === undefined
              ? calls(`${run} ${key} calls`, limit)
              : subjects(`${run} ${key} subjects`, limit, subject),
          );
          expect(await usage.tryConsume(all, at * 60, signal)).toEqual(await memory.tryConsume(all, at * 60, signal));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('executes exactly n of 200 that two connections ask for at a time', async () => {
    const [one, other] = [usageOf(redis.url), usageOf(redis.url)];
    const asked = Array.from({ length: 200 }, (_, n) =>
      (n % 2 === 0 ? one : other).tryConsume([calls('n', 37)], 1_000, signal),
    );
    const results = await Promise.all(asked);
    expect(results.filter(({ kind }) => kind === 'consumed')).toHaveLength(37);
  });

  it('keeps names only as fingerprints, in one slot of a cluster, and no counter beyond its window', async () => {
    const key = JSON.stringify(['calls', 'personal:V16760320']);
    await usageOf(redis.url).tryConsume(
      [calls(key, 5, 5_000), subjects(`s${key}`, 5, 'hmac-sha256:abc', 90_000)],
      Date.now(),
      signal,
    );
    await look(async (client) => {
      const keys = (await client.keys('*')).filter((name) => name.includes(Buffer.from(key).toString('hex')));
      expect(keys).toHaveLength(2);
      for (const name of keys) {
        expect(name).toMatch(/^mcp-corp:\{usage\}:[0-9a-f]+$/);
        const [, left] = [name, await client.pTTL(name)];
        expect(left).toBeGreaterThan(1_000);
        expect(left).toBeLessThanOrEqual(90_000);
      }
      expect(
        JSON.stringify(await Promise.all((await client.keys('*')).map((name) => client.hGetAll(name)))),
      ).not.toContain('16760320');
    });
  });

  it('writes nothing when one of the charges has no room', async () => {
    const usage = usageOf(redis.url);
    const before = await look((client) => client.dbSize());
    expect(await usage.tryConsume([calls('libre', 3), calls('cero', 0)], 0, signal)).toEqual({
      kind: 'exhausted',
      key: 'cero',
    });
    expect(await look((client) => client.dbSize())).toBe(before);
  });

  it('is not known while the store is stopped, and known again when it is back, from the next call on', async () => {
    const usage = usageOf(redis.url);
    await usage.tryConsume([calls('vuelve', 9)], Date.now(), signal);
    await redis.stop();
    for (let n = 0; n < 5; n += 1)
      await expect(usage.tryConsume([calls('vuelve', 9)], Date.now(), signal)).rejects.toThrow();
    await redis.restart();
    expect(await usage.tryConsume([calls('vuelve', 9)], Date.now(), signal)).toEqual({ kind: 'consumed' });
    expect(logged.filter((event) => event.startsWith('usage_store_unusable'))).toHaveLength(1);
    expect(logged.at(-1)).toBe('usage_store_recovered');
    expect(logged.join()).not.toContain('127.0.0.1');
  });

  it('is not known while the store hangs, for all who wait, and nothing of it is counted twice', async () => {
    const usage = usageOf(redis.url);
    await usage.tryConsume([calls('cuelga', 9)], Date.now(), signal);
    redis.freeze();
    const asked = await Promise.allSettled(
      Array.from({ length: 3 }, () => usage.tryConsume([calls('cuelga', 9)], Date.now(), signal)),
    );
    redis.thaw();
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await usage.tryConsume([calls('cuelga', 9)], Date.now(), signal)).toEqual({ kind: 'consumed' });
    // What the frozen server had received it may count when it goes on: at most once each.
    const used = await look((client) =>
      client.hGet(`mcp-corp:{usage}:${Buffer.from('cuelga').toString('hex')}`, 'used'),
    );
    expect(Number(used)).toBeLessThanOrEqual(5);
  });

  it('is not known with a wrong password, or from a server that may not write', async () => {
    await expect(usageOf(redis.url.replace('clave', 'otra')).tryConsume([calls('x', 1)], 0, signal)).rejects.toThrow();
    await look((client) => client.sendCommand(['REPLICAOF', '127.0.0.1', '1']));
    const refused = () => usageOf(redis.url).tryConsume([calls('x', 1)], 0, signal);
    // On a busy machine it may be its time that is over first.
    await until(async () => {
      const outcome = await refused().catch((error: Error) => error.message);
      return typeof outcome === 'string' && outcome.includes('READONLY');
    });
    await look((client) => client.sendCommand(['REPLICAOF', 'NO', 'ONE']));
    expect(logged.some((event) => event.includes('READONLY') || event.includes('ETIMEDOUT'))).toBe(true);
  });

  it('is asked for over TLS that is verified, also where the environment says not to', async () => {
    const authority = makeCertificate({ name: 'autoridad' });
    const certificate = makeCertificate({ name: 'redis', hosts: ['127.0.0.1'], issuer: authority });
    await using secure = await RedisProcess.start({ tls: certificate });
    expect(await usageOf(secure.url, authority.cert).tryConsume([calls('x', 1)], 0, signal)).toEqual({
      kind: 'consumed',
    });
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      await expect(usageOf(secure.url).tryConsume([calls('x', 1)], 0, signal)).rejects.toThrow();
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });
});

describe('usage in a store that is none', () => {
  it('is not known, in bounded time', async () => {
    const mute = await startRawServer((socket) => void socket.resume());
    await expect(usageOf(`redis://127.0.0.1:${mute.port}`).tryConsume([calls('x', 1)], 0, signal)).rejects.toThrow();
    // Also when it hangs before anybody could log in.
    await expect(usageOf(`redis://:x@127.0.0.1:${mute.port}`).tryConsume([calls('x', 1)], 0, signal)).rejects.toThrow();
    await mute.idle();
    await mute.close();
    const babbling = await startRawServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await expect(
      usageOf(`redis://127.0.0.1:${babbling.port}`).tryConsume([calls('x', 1)], 0, signal),
    ).rejects.toThrow();
    await babbling.close();
  });

  it('does nothing for a caller who has left', async () => {
    const leaving = AbortSignal.abort(new Error('left'));
    await expect(usageOf('redis://127.0.0.1:1').tryConsume([calls('x', 1)], 0, leaving)).rejects.toThrow('left');
  });
});
