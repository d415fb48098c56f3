import { describe, expect, it } from '@jest/globals';
import { AllowLists } from '../../../../src/mcp/edge/allow-lists.js';
import { LOOPBACK_HOSTS } from '../../../../src/mcp/http.settings.js';

describe('allow-lists, as they are by default', () => {
  const lists = new AllowLists(LOOPBACK_HOSTS, []);

  it.each(['localhost', 'LOCALHOST:8000', '127.0.0.1', '127.0.0.1:1', '[::1]', '[::1]:65535'])(
    'serve host %s',
    (host) => {
      expect(lists.allowsHost(host)).toBe(true);
    },
  );

  it.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'evil.example:8000',
    '127.0.0.1.nip.io',
    '::1',
    'localhost:8000:1',
  ])('refuse host %s', (host) => {
    expect(lists.allowsHost(host)).toBe(false);
  });

  it.each([undefined, 'http://localhost', 'https://localhost:3000', 'http://127.0.0.1:5173', 'http://[::1]:8080'])(
    'let origin %s in, without CORS',
    (origin) => {
      expect(lists.allowsOrigin(origin)).toBe(true);
      expect(lists.isListed(origin)).toBe(false);
    },
  );

  it.each([
    'null',
    '',
    'http://evil.example',
    'http://localhost.evil.example',
    'file://localhost',
    'http://localhost/x',
    'http://a@localhost',
  ])('refuse origin %s', (origin) => {
    expect(lists.allowsOrigin(origin)).toBe(false);
  });
});

describe('allow-lists that are configured', () => {
  const lists = new AllowLists(
    ['mcp.example.com', 'other.example.com:8443'],
    ['https://app.example.com', 'http://dev.example.com:3000'],
  );

  it.each([
    ['mcp.example.com', true],
    ['MCP.example.com:443', true],
    ['other.example.com:8443', true],
    ['other.example.com', false],
    ['other.example.com:443', false],
    ['localhost', false],
  ])('host %s: %s', (host, allowed) => {
    expect(lists.allowsHost(host)).toBe(allowed);
  });

  it.each([
    ['https://app.example.com', true],
    ['https://app.example.com:443', false],
    ['http://app.example.com', false],
    ['https://app.example.com:8443', false],
    ['http://dev.example.com:3000', true],
    ['http://dev.example.com', false],
    ['http://localhost:3000', false],
    ['null', false],
  ])('origin %s is compared exactly: %s', (origin, allowed) => {
    expect(lists.allowsOrigin(origin)).toBe(allowed);
    expect(lists.isListed(origin)).toBe(allowed);
  });

  it('let requests without an Origin in: they come from no browser', () => {
    expect(lists.allowsOrigin(undefined)).toBe(true);
  });
});
