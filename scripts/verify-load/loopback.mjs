// @ts-check
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export const HOST = '127.0.0.1';

/**
 * GET over a connection of its own, as a probe asks. Never rejects: no answer is status 0.
 *
 * @param {string} url @param {number} [timeoutMs]
 * @returns {Promise<{ status: number, text: string }>}
 */
export function get(url, timeoutMs = 5_000) {
  return new Promise((resolve) => {
    const none = () => resolve({ status: 0, text: '' });
    const request = http.get(url, { agent: false, timeout: timeoutMs }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (/** @type {string} */ part) => (text += part));
      response.on('error', none);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', none);
    request.on('close', none);
  });
}

/**
 * Waits for something outside this process that has no event. Rejects after `limitMs`.
 *
 * @param {string} what @param {() => Promise<boolean> | boolean} look @param {number} [limitMs]
 */
export async function until(what, look, limitMs = 60_000) {
  const end = performance.now() + limitMs;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`${what}: not so in ${limitMs / 1000} s`);
    await delay(20);
  }
}
