import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { MAX_FILE_BYTES, UnreadableFileError } from './secret-file.js';

/**
 * A file whose text may become another one while the process runs. It is looked at for every use and read again when it is
 * another one; one look at a time, so that a hanging file system holds one thread of libuv's pool and no more.
 */
export class WatchedFile {
  #kept: { readonly identity: string; readonly text: string } | undefined;
  #looking: Promise<string> | undefined;

  constructor(private readonly path: string) {}

  /** Rejects with UnreadableFileError or the system's error, whose text has the path in it. */
  text(): Promise<string> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #look(): Promise<string> {
    try {
      const identity = identityOf(await stat(this.path, { bigint: true }));
      if (this.#kept?.identity === identity) return this.#kept.text;
      const text = await read(this.path);
      this.#kept = { identity, text };
      return text;
    } catch (error) {
      this.#kept = undefined;
      throw error;
    }
  }
}

const identityOf = (file: { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint; ctimeNs: bigint }): string =>
  [file.dev, file.ino, file.size, file.mtimeNs, file.ctimeNs].join(' ');

/** Non-blocking, because opening a named pipe that nobody writes to would hang. */
async function read(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new UnreadableFileError('is not a regular file');
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = (await file.read(bytes, length, bytes.length - length)).bytesRead;
    }
    if (length > MAX_FILE_BYTES) throw new UnreadableFileError(`is larger than ${MAX_FILE_BYTES} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
  } finally {
    await file.close();
  }
}
