import { isIP } from 'node:net';

/** Whether a host (as in a URL, IPv6 with or without brackets) can only be this machine: plain text is then no risk. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (bare === 'localhost' || bare === '::1') return true;
  return isIP(bare) === 4 && bare.startsWith('127.');
}
