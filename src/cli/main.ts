#!/usr/bin/env node
import { refuseOldNode } from '../node-version.js';
import { armStopSignal } from '../stop-signal.js';

refuseOldNode(process);

// Before anything else is loaded, as in main.ts; only `serve` waits for it.
const args = process.argv.slice(2);
const stop = args[0] === 'serve' ? armStopSignal(process) : undefined;

const { runProgram } = await import('./program.js');
process.exitCode = await runProgram(args, {
  product: async () => {
    const { canonicalBy, governable } = await import('../run.js');
    return { catalogue: governable(), canonical: canonicalBy() };
  },
  terminal: {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  },
  now: () => Date.now(),
  // The server ends like main.ts: nothing of it may keep the process alive.
  serve: async (flags, stdio) => {
    const { run } = await import('../run.js');
    return process.exit(await run({ stop: stop ?? armStopSignal(process), flags, stdio }));
  },
  // With the limits of the variables, where there are any: it asks as a start would.
  discover: async () => {
    const { discoverBy } = await import('../run.js');
    const { UpstreamsSettings } = await import('../governance/upstreams/upstreams.settings.js');
    const { sectionOfProcess } = await import('../config/environment.js');
    const leave = new AbortController();
    process.once('SIGINT', () => leave.abort());
    process.once('SIGTERM', () => leave.abort());
    return discoverBy(sectionOfProcess(UpstreamsSettings), leave.signal);
  },
});
