import { describe, expect, it } from '@jest/globals';
import type { DiscoveryService } from '@nestjs/core';
import { Bindings, CALL_LIMIT, CREDENTIAL_HEADER } from '../../../src/mcp/bindings.js';
import { CALL_STEPS } from '../../../src/mcp/ports.js';

function bindings(...bound: { token: symbol; instance: unknown }[]): Bindings {
  return new Bindings({ getProviders: () => bound } as unknown as DiscoveryService);
}

describe('the bindings', () => {
  it('have defaults for everything but the steps, without which calls would leave no audit', async () => {
    const none = bindings();
    expect(none.sources).toEqual([]);
    expect((await none.visibility.view({ credential: '' }, new AbortController().signal)).key).toBe('all');
    expect(none.credentialHeader).toBe('authorization');
    expect(none.changes).toBeUndefined();
    expect(none.callLimit).toBe(100);
    expect(() => none.steps).toThrow('CALL_STEPS is not bound');
  });

  it('are what the application provides, wherever it does', () => {
    const some = bindings({ token: CREDENTIAL_HEADER, instance: 'X-Api-Key' }, { token: CALL_LIMIT, instance: 7 });
    expect([some.credentialHeader, some.callLimit]).toEqual(['x-api-key', 7]);
  });

  it('refuse a port that two modules bind: nobody could say which one wins', () => {
    const steps = { token: CALL_STEPS, instance: [] };
    expect(() => bindings(steps, steps).steps).toThrow('CALL_STEPS is bound 2 times');
  });
});
