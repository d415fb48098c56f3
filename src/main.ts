import { refuseOldNode } from './node-version.js';
import { armStopSignal } from './stop-signal.js';

refuseOldNode(process);

// Before anything else is loaded: a signal during the start must end the process in order too.
const stop = armStopSignal(process);

const { keepCompiled } = await import('./compile-cache.js');
const compiled = keepCompiled();

const { run } = await import('./run.js');
process.exit(await run({ stop, compiled }));
