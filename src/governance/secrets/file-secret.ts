import { fileURLToPath } from 'node:url';
import { WatchedFile } from '../../config/watched-file.js';
import { SecretError, type SecretScheme } from './secret-text.js';

/** `file:///run/secrets/name`, an absolute path. A rotated secret counts from the next call on. */
export function fileSecret(): SecretScheme {
  const files = new Map<string, WatchedFile>();
  return async (rest) => {
    try {
      let file = files.get(rest);
      if (file === undefined) files.set(rest, (file = new WatchedFile(pathOf(rest))));
      return await file.text();
    } catch (error) {
      if (error instanceof SecretError) throw error;
      // Not as a cause either: the system's text has the path in it.
      throw new SecretError((error as NodeJS.ErrnoException).code === 'ENOENT' ? 'absent' : 'unreadable');
    }
  };
}

/** `file:///a%20b` as URLs are written; a relative path would depend on where the process was started. */
function pathOf(rest: string): string {
  if (!rest.startsWith('/')) throw new SecretError('unreadable');
  return fileURLToPath(`file://${rest}`);
}
