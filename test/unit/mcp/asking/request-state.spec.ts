import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RequestState } from '../../../../src/mcp/asking/request-state.js';
import type { McpCall } from '../../../../src/mcp/call.js';

const KEY = 'una clave de al menos treinta y dos bytes';
const AT = Date.parse('2026-11-03T12:00:00Z');

interface Made {
  readonly kind?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly credential?: string;
}

function call({ kind = 'tool', name = 'bloquear', input = { id: 'a', n: 1 }, credential = 'token-1' }: Made = {}) {
  return { kind, name, input, caller: { credential } } as unknown as McpCall;
}

const states = new RequestState(KEY, () => AT);

describe('a state for the next round', () => {
  it('is given back as it was, by any replica with the same key', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (state) => {
        const sealed = states.seal(call(), state);
        const opened = new RequestState(KEY, () => AT).open(call(), sealed);
        expect(opened).toEqual({ ok: true, state: JSON.parse(JSON.stringify(state)) as unknown });
      }),
    );
  });

  it('may be absent: then it says only that these questions were asked', () => {
    expect(states.open(call(), states.seal(call(), undefined))).toEqual({ ok: true, state: undefined });
  });

  it('does not depend on the order in which the caller writes its arguments', () => {
    const sealed = states.seal(call({ input: { a: 1, b: { c: 2, d: [3] } } }), 'x');
    expect(states.open(call({ input: { b: { d: [3], c: 2 }, a: 1 } }), sealed)).toMatchObject({ ok: true });
  });

  it.each([
    ['of another tool', { name: 'desbloquear' }],
    ['of a prompt of the same name', { kind: 'prompt' }],
    ['for other arguments', { input: { id: 'b', n: 1 } }],
    ['for the same arguments in other types', { input: { id: 'a', n: '1' } }],
    ['of another caller', { credential: 'token-2' }],
    ['of a caller without a credential', { credential: '' }],
  ])('is refused %s', (_whose, other) => {
    expect(states.open(call(other), states.seal(call(), 'x'))).toEqual({ ok: false });
  });

  it('is refused under another key', () => {
    expect(new RequestState(`${KEY}.`, () => AT).open(call(), states.seal(call(), 'x'))).toEqual({ ok: false });
  });

  it('is refused after a quarter of an hour', () => {
    const sealed = states.seal(call(), 'x');
    expect(new RequestState(KEY, () => AT + 899_000).open(call(), sealed)).toMatchObject({ ok: true });
    expect(new RequestState(KEY, () => AT + 900_000).open(call(), sealed)).toEqual({ ok: false });
  });

  it('is refused with any byte of it changed, and so is any text that is none', () => {
    const sealed = states.seal(call(), { paso: 1 });
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.constantFrom(...'Aaz09_-.~'), (at, other) => {
        const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
        // The last character of the base64 of 32 bytes carries two bits that decode to nothing.
        fc.pre(changed !== sealed && at < sealed.length - 1);
        expect(states.open(call(), changed)).toEqual({ ok: false });
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => expect(states.open(call(), text)).toEqual({ ok: false })));
    expect(states.open(call(), `${sealed}-TAMPERED`)).toEqual({ ok: false });
    expect(states.open(call(), `1.${'A'.repeat(70_000)}.${'A'.repeat(43)}`)).toEqual({ ok: false });
  });
});
