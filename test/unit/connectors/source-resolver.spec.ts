import { describe, expect, it } from '@jest/globals';
import { type LookupAddress, type LookupOptions } from 'node:dns';
import { connect } from 'node:net';
import { SourceResolver } from '../../../src/connectors/source-resolver.js';
import { startRawServer } from '../../support/http-server.js';
import { FakeClock } from '../../support/fake-clock.js';

const A: LookupAddress = { address: '192.0.2.1', family: 4 };
const B: LookupAddress = { address: '192.0.2.2', family: 4 };
const SIX: LookupAddress = { address: '2001:db8::1', family: 6 };

interface Question {
  readonly hostname: string;
  answer(addresses: readonly LookupAddress[]): void;
  fail(code: string): void;
}

/** A resolver whose name server answers when the test says so. */
function harness() {
  const clock = new FakeClock();
  const questions: Question[] = [];
  const resolver = new SourceResolver({
    clock,
    ask: (hostname) =>
      new Promise((resolve, reject) => {
        questions.push({
          hostname,
          answer: resolve,
          fail: (code) => reject(Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code })),
        });
      }),
  });
  const question = (index: number): Question => {
    const asked = questions[index];
    if (!asked) throw new Error(`question ${index} was never asked`);
    return asked;
  };
  return { clock, questions, question, resolver };
}

type Outcome = { readonly code: string } | LookupAddress | LookupAddress[];

const lookup = (resolver: SourceResolver, hostname: string, options: LookupOptions = {}): Promise<Outcome> =>
  new Promise((resolve) => {
    resolver.lookup(hostname, options, (error, address, family) => {
      if (error) resolve({ code: error.code ?? '' });
      else resolve(typeof address === 'string' ? { address, family: family ?? 0 } : address);
    });
  });

describe('SourceResolver', () => {
  it('asks once for any number of connections that wait', async () => {
    const { resolver, question, questions } = harness();
    const waiting = Promise.all(Array.from({ length: 50 }, () => lookup(resolver, 'api.example')));
    question(0).answer([A]);
    expect(await waiting).toEqual(Array(50).fill(A));
    expect(questions).toHaveLength(1);
  });

  it('remembers an answer for a few seconds and then asks again', async () => {
    const { clock, resolver, question, questions } = harness();
    const first = lookup(resolver, 'api.example');
    question(0).answer([A]);
    await first;
    await clock.advance(4_999);
    expect(await lookup(resolver, 'api.example')).toEqual(A);
    expect(questions).toHaveLength(1);
    await clock.advance(1);
    const second = lookup(resolver, 'api.example');
    question(1).answer([B]);
    expect(await second).toEqual(B);
  });

  it('uses the last good address after a short wait when the name server hangs, and at once from then on', async () => {
    const { clock, resolver, question, questions } = harness();
    const first = lookup(resolver, 'api.example');
    question(0).answer([A]);
    await first;
    await clock.advance(60_000);
    let answered = false;
    const hanging = lookup(resolver, 'api.example').then((outcome) => ((answered = true), outcome));
    await clock.advance(249);
    expect(answered).toBe(false);
    await clock.advance(1);
    expect(await hanging).toEqual(A);
    const next = lookup(resolver, 'api.example');
    await clock.advance(0);
    expect(await next).toEqual(A);
    expect(questions).toHaveLength(2);
  });

  it('takes up the new address when the hanging question is answered at last', async () => {
    const { clock, resolver, question } = harness();
    const first = lookup(resolver, 'api.example');
    question(0).answer([A]);
    await first;
    await clock.advance(60_000);
    const hanging = lookup(resolver, 'api.example');
    await clock.advance(250);
    await hanging;
    question(1).answer([B]);
    await clock.advance(0);
    expect(await lookup(resolver, 'api.example')).toEqual(B);
  });

  it('uses the last good address when the name server says no, and does not ask it for every connection', async () => {
    const { clock, resolver, question, questions } = harness();
    const first = lookup(resolver, 'api.example');
    question(0).answer([A]);
    await first;
    await clock.advance(60_000);
    const failing = lookup(resolver, 'api.example');
    question(1).fail('EAI_AGAIN');
    expect(await failing).toEqual(A);
    expect(await lookup(resolver, 'api.example')).toEqual(A);
    expect(questions).toHaveLength(2);
  });

  it('gives up in bounded time when nothing is known, without asking a second time meanwhile', async () => {
    const { clock, resolver, questions } = harness();
    const hanging = lookup(resolver, 'api.example');
    await clock.advance(5_000);
    expect(await hanging).toEqual({ code: 'ETIMEOUT' });
    const next = lookup(resolver, 'api.example');
    await clock.advance(0);
    expect(await next).toEqual({ code: 'ETIMEOUT' });
    expect(questions).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('passes on why a first question failed, without the host name, and asks again next time', async () => {
    const { resolver, question, questions } = harness();
    const failing = new Promise<Error | null>((resolve) => resolver.lookup('api.example', {}, resolve));
    question(0).fail('ENOTFOUND');
    const error = await failing;
    expect(error).toMatchObject({ code: 'ENOTFOUND' });
    expect(error?.message).not.toContain('api.example');
    void lookup(resolver, 'api.example');
    expect(questions).toHaveLength(2);
  });

  it('answers all addresses, one, or those of one family, as Node asks', async () => {
    const { resolver, question } = harness();
    const all = lookup(resolver, 'api.example', { all: true });
    question(0).answer([SIX, A, B]);
    expect(await all).toEqual([SIX, A, B]);
    expect(await lookup(resolver, 'api.example')).toEqual(SIX);
    expect(await lookup(resolver, 'api.example', { family: 4 })).toEqual(A);
    expect(await lookup(resolver, 'api.example', { family: 'IPv4', all: true })).toEqual([A, B]);
    expect(await lookup(resolver, 'api.example', { family: 6, all: true })).toEqual([SIX]);
  });

  it('says "not found" for an empty answer and for a family without addresses', async () => {
    const { resolver, question } = harness();
    const empty = lookup(resolver, 'nobody.example');
    question(0).answer([]);
    expect(await empty).toEqual({ code: 'ENOTFOUND' });
    const other = lookup(resolver, 'api.example', { family: 6 });
    question(1).answer([A]);
    expect(await other).toEqual({ code: 'ENOTFOUND' });
  });

  it('answers IP literals and localhost without asking anybody', async () => {
    const { resolver, questions } = harness();
    expect(await lookup(resolver, '192.0.2.7')).toEqual({ address: '192.0.2.7', family: 4 });
    expect(await lookup(resolver, '::1', { all: true })).toEqual([{ address: '::1', family: 6 }]);
    expect(await lookup(resolver, 'LocalHost')).toEqual({ address: '127.0.0.1', family: 4 });
    expect(await lookup(resolver, 'localhost', { family: 6 })).toEqual({ address: '::1', family: 6 });
    expect(questions).toHaveLength(0);
  });

  it('never calls back in the turn of the question', async () => {
    const { resolver } = harness();
    let turn = 'same';
    const seen = new Promise((resolve) => resolver.lookup('localhost', {}, () => resolve(turn)));
    turn = 'later';
    expect(await seen).toBe('later');
  });

  it('keeps a bounded number of names', async () => {
    const { resolver, questions, question } = harness();
    for (let n = 0; n < 17; n += 1) {
      const answer = lookup(resolver, `h${n}.example`);
      question(n).answer([A]);
      await answer;
    }
    void lookup(resolver, 'h16.example');
    expect(questions).toHaveLength(17);
    void lookup(resolver, 'h0.example');
    expect(questions).toHaveLength(18);
  });

  it('serves net.connect with several addresses', async () => {
    const server = await startRawServer((socket) => socket.end('hola'));
    const resolver = new SourceResolver({
      ask: async () => [
        { address: '127.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ],
    });
    const socket = connect({ host: 'api.example', port: server.port, lookup: resolver.lookup, autoSelectFamily: true });
    const text = await new Promise<string>((resolve, reject) => {
      socket.once('data', (data) => resolve(data.toString()));
      socket.once('error', reject);
    });
    expect(text).toBe('hola');
    socket.destroy();
    await server.close();
  });
});
