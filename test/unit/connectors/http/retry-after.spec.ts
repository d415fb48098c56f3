import { describe, expect, it } from '@jest/globals';
import { retryAfterSeconds } from '../../../../src/connectors/http/retry-after.js';

const NOW = Date.UTC(2026, 10, 30, 12, 0, 0);

describe('retryAfterSeconds', () => {
  it.each([
    ['0', 0],
    ['7', 7],
    [' 120 ', 120],
    ['Mon, 30 Nov 2026 12:00:09 GMT', 9],
    ['Monday, 30-Nov-26 12:00:09 GMT', 9],
    ['Mon Nov 30 12:00:09 2026', 9],
    ['Mon, 30 Nov 2026 11:59:00 GMT', 0],
  ])('reads %j', (header, seconds) => {
    expect(retryAfterSeconds(header, NOW)).toBe(seconds);
  });

  it('is nothing without a header', () => {
    expect(retryAfterSeconds(undefined, NOW)).toBeUndefined();
  });

  it.each([
    '',
    'soon',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    '9999999999',
    '2026-11-30T12:00:09Z',
    'Mon, 99 Xyz 2026 12:00:09 GMT',
  ])('is nothing when it is %j', (header) => {
    expect(retryAfterSeconds(header, NOW)).toBeUndefined();
  });
});
