import { describe, expect, it } from '@jest/globals';
import { Lifecycle } from '../../../src/health/lifecycle.js';

describe('Lifecycle', () => {
  it('goes from starting to ready to stopping', () => {
    const lifecycle = new Lifecycle();
    const states = [lifecycle.state];
    lifecycle.started();
    states.push(lifecycle.state);
    lifecycle.stopping();
    states.push(lifecycle.state);
    expect(states).toEqual(['starting', 'ready', 'stopping']);
  });

  it('never becomes ready once it is stopping', () => {
    const lifecycle = new Lifecycle();
    lifecycle.stopping();
    lifecycle.started();
    expect(lifecycle.state).toBe('stopping');
  });
});
