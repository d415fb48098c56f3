// @ts-check
/**
 * The built server with somebody who may announce changes of the catalogue. The product's is fixed at start, and then a
 * `subscriptions/listen` ends at once; only where a bus is bound do its streams stay open and have an end to be tested.
 */
/** Types are those of the sources: the built files have none. @param {string} file @returns {Promise<unknown>} */
const built = (file) => import(new URL(`../../dist/${file}`, import.meta.url).href);

// As in main.ts: the signals are armed before anything else is loaded.
const { armStopSignal } = /** @type {typeof import('../../src/stop-signal.js')} */ (await built('stop-signal.js'));
const stop = armStopSignal(process);

const { AppModule } = /** @type {typeof import('../../src/app.module.js')} */ (await built('app.module.js'));
const { CHANGE_BUS } = /** @type {typeof import('../../src/mcp/changes.js')} */ (await built('mcp/changes.js'));
const { run } = /** @type {typeof import('../../src/run.js')} */ (await built('run.js'));

const silent = { publish: () => undefined, subscribe: () => () => undefined };
const register = AppModule.register.bind(AppModule);
/** @type {typeof register} */
const withStreams = (...args) => {
  const module = register(...args);
  return { ...module, providers: [...(module.providers ?? []), { provide: CHANGE_BUS, useValue: silent }] };
};
AppModule.register = withStreams;

process.exit(await run({ stop }));
