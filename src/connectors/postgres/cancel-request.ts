import { type DatabaseSocket } from './database-socket.js';
import { type SessionKey } from './driver.js';

/**
 * Asks the server to cancel what a session is doing (PostgreSQL protocol 3.0, 54.2.8), over a socket of its own: connect,
 * write 16 bytes, wait until the *server* closes. Two rules that look like details:
 *
 * - Never half-close: PgBouncer 1.18 dies of it.
 * - Wait for the close: it comes after the signal was sent, so a cancel cannot hit the next statement of the session.
 *
 * Resolves when the socket is closed: true when the request was delivered. Never rejects. It has no timeout: whoever
 * gives up destroys the socket.
 */
export function cancelRequest(
  socket: DatabaseSocket,
  server: { address: string; port: number },
  key: SessionKey,
): Promise<boolean> {
  const { processID, secretKey } = key;
  return new Promise((resolve) => {
    let delivered = false;
    socket.once('connect', () => socket.write(packet(processID ?? 0, secretKey ?? 0)));
    socket.once('end', () => (delivered = true));
    socket.on('error', () => undefined); // `close` follows and `delivered` is false
    socket.once('close', () => resolve(delivered));
    socket.resume();
    socket.connect(server.port, server.address);
  });
}

const CANCEL_REQUEST_CODE = 80_877_102; // 1234.5678

function packet(processID: number, secretKey: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeInt32BE(bytes.length, 0);
  bytes.writeInt32BE(CANCEL_REQUEST_CODE, 4);
  bytes.writeInt32BE(processID, 8);
  bytes.writeInt32BE(secretKey, 12);
  return bytes;
}
