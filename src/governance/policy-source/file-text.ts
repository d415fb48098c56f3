import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { MAX_ARTEFACT_BYTES } from '../policy-file/yaml-text.js';
import { PolicyUnreachableError } from './unreachable.js';

/** UTF-8, at most one byte more than an artefact may have, which its reader then refuses. Rejects with a PolicyUnreachableError. */
export async function loadText(path: string): Promise<string> {
  try {
    // Non-blocking, because opening a named pipe that nobody writes to would hang the start.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(MAX_ARTEFACT_BYTES + 1);
      let length = 0;
      for (let count = -1; count !== 0 && length < bytes.length; length += count)
        count = (await file.read(bytes, length, bytes.length - length)).bytesRead;
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new PolicyUnreachableError(typeof code === 'string' ? code : 'unknown');
  }
}
