import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { MAX_FILE_BYTES } from '../../config/secret-file.js';
import { SecretError, type SecretScheme } from './secret-text.js';

interface Kept {
  readonly identity: string;
  readonly text: string;
}

/**
 * `file:///run/secrets/name`, an absolute path. The file is looked at for every use and read again when it is another one,
 * so that a rotated secret counts from the next call on; one look at a time for each file, so that a hanging one holds one
 * thread of libuv's pool and no more.
 */
export function fileSecret(): SecretScheme {
  const kept = new Map<string, Kept>();
  const looking = new Map<string, Promise<string>>();
  return (rest) => {
    let look = looking.get(rest);
    if (look === undefined) {
      look = lookAt(rest, kept).finally(() => looking.delete(rest));
      looking.set(rest, look);
    }
    return look;
  };
}

async function lookAt(rest: string, kept: Map<string, Kept>): Promise<string> {
  try {
    const path = pathOf(rest);
    const identity = identityOf(await stat(path, { bigint: true }));
    const known = kept.get(rest);
    if (known?.identity === identity) return known.text;
    const text = await read(path);
    kept.set(rest, { identity, text });
    return text;
  } catch (error) {
    kept.delete(rest);
    if (error instanceof SecretError) throw error;
    // Not as a cause either: the system's text has the path in it.
    throw new SecretError((error as NodeJS.ErrnoException).code === 'ENOENT' ? 'absent' : 'unreadable');
  }
}

/** `file:///a%20b` as URLs are written; a relative path would depend on where the process was started. */
function pathOf(rest: string): string {
  if (!rest.startsWith('/')) throw new SecretError('unreadable');
  return fileURLToPath(`file://${rest}`);
}

const identityOf = (file: { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint; ctimeNs: bigint }): string =>
  [file.dev, file.ino, file.size, file.mtimeNs, file.ctimeNs].join(' ');

/** Non-blocking, because opening a named pipe that nobody writes to would hang. */
async function read(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new SecretError('unreadable');
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = (await file.read(bytes, length, bytes.length - length)).bytesRead;
    }
    if (length > MAX_FILE_BYTES) throw new SecretError('unreadable');
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
  } finally {
    await file.close();
  }
}
