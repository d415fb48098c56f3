import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { CallGate } from '../../../src/mcp/call-gate.js';

/** The little of a response that the gate looks at. */
class Response extends EventEmitter {
  writableFinished = false;
  closed = false;

  close(finished: boolean): void {
    this.writableFinished = finished;
    this.closed = true;
    this.emit('close');
  }
}

const as = (response: Response) => response as unknown as ServerResponse;

describe('the gate', () => {
  it('admits up to its limit, and again when somebody has left', () => {
    const gate = new CallGate(() => 2);
    const [a, b] = [new Response(), new Response()];
    gate.enter(as(a));
    gate.enter(as(b));
    expect([gate.inFlight, gate.isFull, gate.enter(as(new Response()))]).toEqual([2, true, undefined]);
    a.close(true);
    expect([gate.inFlight, gate.isFull]).toEqual([1, false]);
    expect(gate.enter(as(new Response()))).toBeDefined();
  });

  it('counts an exchange until its answer is out and everything that runs for it has settled', () => {
    const gate = new CallGate(() => 10);
    const response = new Response();
    const exchange = gate.enter(as(response));
    exchange?.hold();
    response.close(false);
    expect(gate.inFlight).toBe(1);
    exchange?.release();
    expect(gate.inFlight).toBe(0);
  });

  it('cuts the exchange of a client that left before its answer, and of no other', () => {
    const gate = new CallGate(() => 10);
    const [left, served] = [new Response(), new Response()];
    const [a, b] = [gate.enter(as(left)), gate.enter(as(served))];
    left.close(false);
    served.close(true);
    expect(a?.signal.reason).toMatchObject({ code: 'cancelled' });
    expect(b?.signal.aborted).toBe(false);
  });

  it('cuts at once an exchange whose client had gone before it was admitted', () => {
    const gate = new CallGate(() => 10);
    const gone = new Response();
    gone.close(false);
    expect(gate.enter(as(gone))?.signal.aborted).toBe(true);
    expect(gate.inFlight).toBe(0);
  });

  it('tells an abort also to whoever asks for the signal afterwards, and keeps the first reason', () => {
    const gate = new CallGate(() => 10);
    const response = new Response();
    const exchange = gate.enter(as(response));
    exchange?.hold();
    gate.abortAll();
    response.close(false);
    expect(exchange?.signal.reason).toMatchObject({ code: 'shutdown' });
  });

  it('is idle when nobody is in flight, and tells everybody who waits', async () => {
    const gate = new CallGate(() => 10);
    await gate.idle();
    const response = new Response();
    gate.enter(as(response));
    const told: string[] = [];
    const waiting = [gate.idle().then(() => told.push('a')), gate.idle().then(() => told.push('b'))];
    await Promise.resolve();
    expect(told).toEqual([]);
    response.close(true);
    await Promise.all(waiting);
    expect(told).toEqual(['a', 'b']);
  });

  it('admits nobody after stop, and those within may finish', () => {
    const gate = new CallGate(() => 10);
    const response = new Response();
    const exchange = gate.enter(as(response));
    gate.stop();
    expect([gate.isStopped, gate.isFull, gate.enter(as(new Response()))]).toEqual([true, true, undefined]);
    expect(exchange?.signal.aborted).toBe(false);
  });

  it('lets an exchange count for more only while there is room, and gives all of it back', () => {
    const gate = new CallGate(() => 4);
    const [a, b] = [new Response(), new Response()];
    const first = gate.enter(as(a));
    gate.enter(as(b));
    if (first === undefined) throw new Error('refused');
    expect(gate.widen(first, 4)).toBe(false);
    expect(gate.widen(first, 3)).toBe(true);
    expect(gate.inFlight).toBe(4);
    a.close(true);
    expect(gate.inFlight).toBe(1);
    expect(gate.widen(first, 2)).toBe(false);
  });
});
