import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CircuitBreaker, type FailureCause, type Ticket } from '../../../src/resilience/breaker.js';

const settings = { failureThreshold: 3, resetTimeoutMs: 1000, successThreshold: 2 };

function setUp(): { breaker: CircuitBreaker; changes: string[] } {
  const changes: string[] = [];
  return { breaker: new CircuitBreaker(settings, (from, to) => changes.push(`${from}>${to}`)), changes };
}

function admitted(breaker: CircuitBreaker, now: number): Ticket {
  const ticket = breaker.admit(now);
  if (ticket === undefined) throw new Error('refused');
  return ticket;
}

function open(breaker: CircuitBreaker, now: number, cause: FailureCause): void {
  for (let n = 0; n < settings.failureThreshold; n += 1) breaker.failed(admitted(breaker, now), now, cause);
}

describe('the circuit breaker', () => {
  it('opens after consecutive failures, and a success starts the count again', () => {
    const { breaker } = setUp();
    breaker.failed(admitted(breaker, 0), 0, 'other');
    breaker.failed(admitted(breaker, 0), 0, 'other');
    breaker.succeeded(admitted(breaker, 0), 'call');
    breaker.failed(admitted(breaker, 0), 0, 'other');
    breaker.failed(admitted(breaker, 0), 0, 'other');
    expect(breaker.state.name).toBe('closed');
    breaker.failed(admitted(breaker, 0), 0, 'other');
    expect(breaker.state.name).toBe('open');
    expect(breaker.refuses(999)).toBe(true);
    expect(breaker.admit(999)).toBeUndefined();
  });

  it('only reads at the first check: an open circuit stays open until somebody holds a slot', () => {
    const { breaker } = setUp();
    open(breaker, 0, 'connection');
    expect(breaker.refuses(1000)).toBe(false);
    expect(breaker.state.name).toBe('open');
    admitted(breaker, 1000);
    expect(breaker.state.name).toBe('half_open');
  });

  it('admits one probe at a time and closes after enough of them', () => {
    const { breaker, changes } = setUp();
    open(breaker, 0, 'connection');
    const probe = admitted(breaker, 1000);
    expect(breaker.refuses(1000)).toBe(true);
    expect(breaker.admit(1000)).toBeUndefined();
    breaker.succeeded(probe, 'call');
    expect(breaker.state.name).toBe('half_open');
    breaker.succeeded(admitted(breaker, 1000), 'call');
    expect(changes).toEqual(['closed>open', 'open>half_open', 'half_open>closed']);
  });

  it('reopens at one failed probe and counts the reset time from then', () => {
    const { breaker } = setUp();
    open(breaker, 0, 'connection');
    breaker.failed(admitted(breaker, 1500), 1600, 'connection');
    expect(breaker.refuses(2599)).toBe(true);
    expect(breaker.refuses(2600)).toBe(false);
  });

  it('gives the permit of a probe that moved nothing to the next', () => {
    const { breaker } = setUp();
    open(breaker, 0, 'connection');
    breaker.release(admitted(breaker, 1000));
    expect(breaker.state).toMatchObject({ name: 'half_open', successes: 0, probe: undefined });
    admitted(breaker, 1000);
  });

  it('counts a refused request as proof of life in half-open only', () => {
    const { breaker } = setUp();
    breaker.failed(admitted(breaker, 0), 0, 'other');
    breaker.rejected(admitted(breaker, 0));
    expect(breaker.state).toEqual({ name: 'closed', failures: 1 });
    breaker.failed(admitted(breaker, 0), 0, 'other');
    breaker.failed(admitted(breaker, 0), 0, 'other');
    expect(breaker.state.name).toBe('open');
    breaker.rejected(admitted(breaker, 1000));
    breaker.rejected(admitted(breaker, 1000));
    expect(breaker.state.name).toBe('closed');
  });

  it('lets health close what connection failures opened, and not what timeouts of operations opened', () => {
    for (const [cause, end] of [
      ['connection', 'closed'],
      ['other', 'closed'],
      ['timeout', 'half_open'],
    ] as const) {
      const { breaker } = setUp();
      open(breaker, 0, cause);
      for (let n = 0; n < settings.successThreshold; n += 1) breaker.succeeded(admitted(breaker, 1000), 'health');
      expect([cause, breaker.state.name]).toEqual([cause, end]);
    }
  });

  it('no longer believes health that closed the circuit when no operation has worked since', () => {
    const { breaker } = setUp();
    const heal = (now: number): void => {
      for (let n = 0; n < settings.successThreshold; n += 1) breaker.succeeded(admitted(breaker, now), 'health');
    };
    open(breaker, 0, 'other');
    heal(1000);
    open(breaker, 1000, 'other');
    expect(breaker.state).toMatchObject({ name: 'open', healing: 'call' });
    breaker.succeeded(admitted(breaker, 2000), 'call');
    breaker.succeeded(admitted(breaker, 2000), 'call');
    open(breaker, 2000, 'other');
    expect(breaker.state).toMatchObject({ name: 'open', healing: 'health' });
    heal(3000);
    open(breaker, 3000, 'connection');
    expect(breaker.state).toMatchObject({ name: 'open', healing: 'health' });
  });

  it('opens on a source that fails every other call, once it has seen enough', () => {
    const { breaker } = setUp();
    for (let n = 0; n < 5; n += 1) {
      breaker.succeeded(admitted(breaker, 0), 'call');
      breaker.failed(admitted(breaker, 0), 0, 'other');
    }
    breaker.succeeded(admitted(breaker, 0), 'call');
    expect(breaker.state.name).toBe('closed');
    breaker.failed(admitted(breaker, 0), 0, 'other');
    expect(breaker.state.name).toBe('open');
  });

  it('forgets old results: one failure in three never opens it, however long it goes on', () => {
    const { breaker } = setUp();
    for (let n = 0; n < 300; n += 1) {
      if (n % 3 === 0) breaker.failed(admitted(breaker, 0), 0, 'other');
      else breaker.succeeded(admitted(breaker, 0), 'call');
    }
    expect(breaker.state.name).toBe('closed');
  });

  it('can be forced: open unless it is, closed whatever the reset time', () => {
    const { breaker, changes } = setUp();
    breaker.forceClosed();
    breaker.forceOpen(0);
    breaker.forceOpen(500);
    expect(breaker.state).toMatchObject({ name: 'open', until: 1000, healing: 'health' });
    breaker.forceClosed();
    expect(changes).toEqual(['closed>open', 'open>closed']);
  });
});

/** The law, written as plainly as possible; every ticket remembers the generation of the model it was given in. */
class Model {
  name: 'closed' | 'open' | 'half_open' = 'closed';
  generation = 0;
  failures = 0;
  successes = 0;
  until = 0;
  probes = 0;
  window: boolean[] = [];

  become(name: Model['name']): void {
    this.name = name;
    this.generation += 1;
    this.failures = this.successes = this.probes = 0;
    this.window = [];
  }

  admit(now: number): boolean {
    if (this.name === 'open' && now >= this.until) this.become('half_open');
    if (this.name === 'closed') return true;
    if (this.name === 'open' || this.probes === 1) return false;
    this.probes = 1;
    return true;
  }

  report(generation: number, now: number, result: Result): void {
    if (generation !== this.generation) return;
    const halfOpen = this.name === 'half_open';
    this.probes = 0;
    const good = result === 'success' || (result === 'rejected' && halfOpen);
    if (good && halfOpen && ++this.successes === settings.successThreshold) this.become('closed');
    else if (good && !halfOpen) {
      this.failures = 0;
      this.window.push(false);
    } else if (result === 'failure') {
      this.failures += 1;
      this.window.push(true);
      const recent = this.window.slice(-12);
      const tooMany = recent.length === 12 && recent.filter(Boolean).length >= 6;
      if (halfOpen || this.failures >= settings.failureThreshold || tooMany) {
        this.become('open');
        this.until = now + settings.resetTimeoutMs;
      }
    }
  }
}

type Result = 'success' | 'failure' | 'rejected' | 'nothing';

describe('the circuit breaker under random histories', () => {
  it('does what the law says, and no result of an earlier generation moves it', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('admit' as const) }) },
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constantFrom<Result>('success', 'failure', 'failure', 'rejected', 'nothing'),
          which: fc.nat(30),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(1200) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        let now = 0;
        const { breaker } = setUp();
        const model = new Model();
        const pending: { ticket: Ticket; generation: number }[] = [];
        for (const one of steps) {
          if (one.do === 'advance') now += one.ms;
          else if (one.do === 'admit') {
            const refusing = breaker.refuses(now);
            const ticket = breaker.admit(now);
            expect(ticket !== undefined).toBe(model.admit(now));
            expect(refusing).toBe(ticket === undefined);
            if (ticket !== undefined) pending.push({ ticket, generation: model.generation });
          } else if (pending.length > 0) {
            const [done] = pending.splice(one.which % pending.length, 1);
            if (done === undefined) continue;
            model.report(done.generation, now, one.do);
            if (one.do === 'success') breaker.succeeded(done.ticket, 'call');
            if (one.do === 'failure') breaker.failed(done.ticket, now, 'other');
            if (one.do === 'rejected') breaker.rejected(done.ticket);
            if (one.do === 'nothing') breaker.release(done.ticket);
          }
          const { state } = breaker;
          expect(state.name).toBe(model.name);
          if (state.name === 'closed') expect(state.failures).toBe(model.failures);
          if (state.name === 'open') expect(state.until).toBe(model.until);
          if (state.name === 'half_open') {
            expect(state.successes).toBe(model.successes);
            expect(state.probe !== undefined).toBe(model.probes === 1);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
