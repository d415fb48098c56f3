// @ts-check
import { once } from 'node:events';
import net from 'node:net';

/** A TCP port on loopback that was free a moment ago: somebody else may be faster. @returns {Promise<number>} */
export async function freePort() {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
