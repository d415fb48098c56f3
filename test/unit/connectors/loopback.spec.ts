import { describe, expect, it } from '@jest/globals';
import { isLoopback } from '../../../src/connectors/loopback.js';

describe('isLoopback', () => {
  it('knows the names and addresses that can only be this machine', () => {
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.255.0.9', '::1', '[::1]'])
      expect(isLoopback(host)).toBe(true);
  });

  it('is not fooled by names that only look like it', () => {
    for (const host of ['127.0.0.1.example.com', 'localhost.example.com', '0.0.0.0', '10.0.0.1', '::', '', '127.1']) {
      expect(isLoopback(host)).toBe(false);
    }
  });
});
