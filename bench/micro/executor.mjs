// @ts-check
/** CPU of one uncontended call of the executor, timer and caller's listener included, in microseconds. Prints JSON. */
import { ResilientExecutor } from '../../dist/resilience/executor.js';
import { SourceSettings } from '../../dist/connectors/source-settings.js';

class BenchSettings extends SourceSettings {
  static section = 'BENCH';
}

const nothing = () => undefined;
const log = { debug: nothing, info: nothing, warning: nothing, error: nothing };
const connector = {
  name: 'bench',
  connect: async () => undefined,
  close: async () => undefined,
  health: async () => true,
  run: (operation, { signal }) => operation(undefined, signal),
  classify: () => ({ kind: /** @type {const} */ ('bug') }),
};

const CALLS = 20_000;
const batches = Number(process.argv[2]);
const executor = new ResilientExecutor({ connector, settings: new BenchSettings().executorSettings(), log });
const options = { signal: new AbortController().signal };
const operation = async () => 1;

const results = [];
// The first batches are the warm-up.
for (let batch = -3; batch < batches; batch++) {
  const before = process.cpuUsage();
  for (let call = 0; call < CALLS; call++) await executor.run(operation, options);
  const { user, system } = process.cpuUsage(before);
  if (batch >= 0) results.push((user + system) / CALLS);
}
await executor.close();
process.stdout.write(JSON.stringify(results));
