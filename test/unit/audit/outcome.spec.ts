import { describe, expect, it } from '@jest/globals';
import { outcomeOfError, outcomeOfValue, recordableCode } from '../../../src/audit/outcome.js';
import { CallCut } from '../../../src/mcp/cancellation.js';
import { CallError } from '../../../src/mcp/errors.js';
import { callOf } from './doubles.js';

const aborted = (reason?: unknown) => AbortSignal.abort(reason);

describe('the outcome of a call', () => {
  it('is what the entry says of its result', () => {
    expect(outcomeOfValue(callOf(), {})).toEqual({ result: 'success' });
    expect(outcomeOfValue(callOf({ outcome: () => 'partial' }), {})).toEqual({ result: 'partial' });
  });

  it.each([
    'invalid_arguments',
    'invalid_identifier',
    'invalid_check_digit',
    'not_found',
    'circuit_open',
    'saturated',
    'rate_limited',
    'timeout',
    'unavailable',
    'rejected',
  ])('is a failure with the code %s of its error', (code) => {
    expect(outcomeOfError(callOf(), new CallError(code, 'V16760320 no existe'))).toEqual({
      result: 'failure',
      reason: code,
    });
  });

  it('is denied when governance refused, also when the caller has left since', () => {
    const denied = new CallError('not_granted', 'no', { result: 'denied' });
    expect(outcomeOfError(callOf(), denied)).toEqual({ result: 'denied', reason: 'not_granted' });
    expect(outcomeOfError(callOf({ signal: aborted() }), denied)).toEqual({ result: 'denied', reason: 'not_granted' });
  });

  it.each([new Error('V16760320'), new TypeError('x'), 'V16760320', undefined, { code: 'not_found' }])(
    'is internal_error for anything that is not a CallError (%p)',
    (error) => {
      expect(outcomeOfError(callOf(), error)).toEqual({ result: 'failure', reason: 'internal_error' });
    },
  );

  it.each(['V16760320', 'No existe', 'not-found', '', 'x'.repeat(41), 'código', 'a\n'])(
    'takes no text for a code: %j',
    (code) => {
      expect(recordableCode(code)).toBe('internal_error');
      expect(outcomeOfError(callOf(), new CallError(code, 'x'))).toEqual({
        result: 'failure',
        reason: 'internal_error',
      });
    },
  );

  it('is not_found for an unknown entry, whatever code the edge chose', () => {
    const call = callOf({ name: 'unknown' });
    expect(outcomeOfError(call, new CallError('unknown_tool', 'x'))).toEqual({
      result: 'failure',
      reason: 'not_found',
    });
  });

  it('is cancelled when the caller left, however the method ended', () => {
    const call = callOf({ signal: aborted() });
    const outcome = { result: 'cancelled', reason: 'cancelled' };
    expect(outcomeOfError(call, new Error('aborted'))).toEqual(outcome);
    expect(outcomeOfError(call, new CallError('timeout', 'x'))).toEqual(outcome);
    expect(outcomeOfValue(call, {})).toEqual(outcome);
    expect(outcomeOfError(callOf(), new CallError('cancelled', 'x'))).toEqual(outcome);
  });

  it('is cancelled by shutdown when the abort says so', () => {
    const cut = new CallCut('shutdown');
    const call = callOf({ signal: aborted(cut) });
    expect(outcomeOfError(call, cut)).toEqual({ result: 'cancelled', reason: 'shutdown' });
    expect(outcomeOfValue(call, {})).toEqual({ result: 'cancelled', reason: 'shutdown' });
  });
});
