import module from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Beside the compiled code and nowhere else: whoever may write here may write the code itself, while the default, a
 * folder under the system's temporary one, would run what another user of the machine has put there.
 */
const FOLDER = fileURLToPath(new URL('.compile-cache', import.meta.url));

/** Whether this start could use what earlier ones have compiled. */
export type CompileCache = 'enabled' | 'unavailable' | 'disabled';

/**
 * Keeps V8's code of every module that is loaded from now on, for the next start. On a read-only file system it is
 * `unavailable`, or is read as whoever could write has left it; the start is slower then, and nothing else. `run` logs
 * which. `NODE_DISABLE_COMPILE_CACHE=1` turns it off.
 */
export function keepCompiled(folder: string = FOLDER): CompileCache {
  const { FAILED, DISABLED } = module.constants.compileCacheStatus;
  const { status } = module.enableCompileCache(folder);
  if (status === FAILED) return 'unavailable';
  return status === DISABLED ? 'disabled' : 'enabled';
}
