import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Far above any key, token or certificate; a `_FILE` that points to a device or a log must not fill the memory. */
export const MAX_FILE_BYTES = 65_536;

/** Returns the bytes of a file; throws an error with a `code` when it cannot. */
export type ReadFile = (path: string) => Uint8Array;

/** The file's text could not be had; `reason` holds neither its path nor its content. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';

  constructor(readonly reason: string) {
    super(reason);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory (ENOENT)',
  EACCES: 'permission denied (EACCES)',
  EPERM: 'operation not permitted (EPERM)',
  EISDIR: 'is a directory (EISDIR)',
  ENOTDIR: 'not a directory (ENOTDIR)',
  ELOOP: 'too many symbolic links (ELOOP)',
  ENAMETOOLONG: 'name too long (ENAMETOOLONG)',
};

/** Non-blocking, because opening a named pipe nobody writes to would hang the start for ever. */
export const readBoundedFile: ReadFile = (path) => {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (stats.isDirectory()) throw new UnreadableFileError(REASONS.EISDIR ?? 'EISDIR');
    if (!stats.isFile()) throw new UnreadableFileError('is not a regular file');
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
};

/** UTF-8 without its byte order mark. Throws `UnreadableFileError`, also for what is larger than `MAX_FILE_BYTES`. */
export function readTextFile(path: string, readFile: ReadFile): string {
  const bytes = read(path, readFile);
  if (bytes.length > MAX_FILE_BYTES) throw new UnreadableFileError(`is larger than ${MAX_FILE_BYTES} bytes`);
  const text = decode(bytes);
  // UTF-16 without a mark passes for UTF-8 with a zero after each letter.
  if (text.includes('\0')) throw new UnreadableFileError('is not UTF-8 text');
  return text;
}

function read(path: string, readFile: ReadFile): Uint8Array {
  try {
    return readFile(path);
  } catch (error) {
    if (error instanceof UnreadableFileError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? '';
    throw new UnreadableFileError(REASONS[code] ?? (/^[A-Z0-9_]{2,40}$/.test(code) ? code : 'unknown error'));
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UnreadableFileError('is not UTF-8 text');
  }
}
