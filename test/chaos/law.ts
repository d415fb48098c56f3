import { setTimeout as delay } from 'node:timers/promises';
import { ServerProcess, type LogLine } from '../support/server-process.js';
import { ask, CODES, Witness, type Code, type Outcome, type Witnessed } from './calls.js';
import { type Environment, LIMITS, OTHER, type Source, type Stage } from './stage.js';

/**
 * The law of every fault (issue 3 §3): each caller gets a stable code inside its deadline, the other source notices
 * nothing, the slots come back, the process lives and ends in order, the source is used again within the reset time and
 * five seconds of the fault's end, every call has its start and its end in the audit, and nothing clear was written.
 */
export interface ChaosCase {
  readonly name: string;
  /** When the fault begins: before the server starts, while connections idle, while operations run in the source. */
  readonly phase: 'start' | 'idle' | 'running';
  /** How calls may end while the fault lasts. Without `ok` among them, none may succeed. */
  readonly codes: readonly Code[];
  /** Of `codes`, those of which at least one must be seen; else the fault was none. */
  readonly sees?: readonly Code[];
  /** Part of the short form. */
  readonly brief?: boolean;
  prepare?(stage: Stage): Promise<Prepared>;
  begin(stage: Stage, server: ServerProcess | undefined): Promise<void>;
  end(stage: Stage, server: ServerProcess): Promise<void>;
  /** While operations are still held in the source, and the callers have been answered. */
  answered?(stage: Stage): Promise<void>;
  /** After the recovery. Throws what is wrong. */
  afterwards?(stage: Stage, server: ServerProcess): Promise<void>;
}

/** What a case needs beside the stage: another way to the source, another way to start the server. */
export interface Prepared {
  readonly env?: Environment;
  readonly launcher?: readonly string[];
  close?(): Promise<void>;
}

export interface Row {
  readonly source: string;
  readonly name: string;
  readonly phase: string;
  /** How often each code was seen. */
  readonly codes: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  readonly witness: Witnessed;
  readonly recoveredMs: number;
  readonly slotsBackMs: number;
  readonly misses: readonly string[];
}

const CALLERS = 6;
const ROUNDS = 2;
const DEADLINE_MS = 1000 * (LIMITS.acquire + LIMITS.operation);
/** Architecture §4, law 3, for a deadline that is measured. What the machine's other work adds, /health shows. */
const LATE_MS = 50;
const START_MS = 40_000;
/** A source that says nothing holds the start no longer than an operation of it may take; the process itself has the rest. */
const READY_MS = 1000 * LIMITS.operation + 5000;
const RECOVERY_MS = 1000 * LIMITS.reset + 5000;
/** More than /health takes at the same time. */
const NOTICED_MS = 100;
/** The kill comes after the grace; then the resource must be back. */
const SLOTS_BACK_MS = 1000 * LIMITS.grace + 2000;

/** Rejects only when the case could not be carried out. */
export async function prove(chaos: ChaosCase, stage: Stage, source: Source): Promise<Row> {
  const prepared = (await chaos.prepare?.(stage)) ?? {};
  const misses: string[] = [];
  const miss = (broken: boolean, text: string): void => {
    if (broken) misses.push(text);
  };
  const other = stage[OTHER[source.name]];
  const env = { ...source.through(), ...other.direct(), ...prepared.env };
  if (chaos.phase === 'start') await chaos.begin(stage, undefined);
  const spawned = performance.now();
  const server = await ServerProcess.spawn(env, { launcher: prepared.launcher });
  let lasts = true;
  let release = async (): Promise<void> => undefined;
  try {
    await server.untilReady(START_MS);
    const readyMs = performance.now() - spawned;
    miss(readyMs > READY_MS, `ready after ${Math.round(readyMs)} ms`);
    const witness = new Witness(server.url, other.tool);
    const callers = () => Array.from({ length: CALLERS }, () => ask(server.url, source.tool));
    const outcomes: Outcome[] = [];
    let before = 0;
    if (chaos.phase !== 'start') {
      before = 1;
      const first = await ask(server.url, source.tool);
      miss(first.code !== 'ok', `before the fault: ${first.code}`);
    }
    let running: Promise<Outcome>[] = [];
    if (chaos.phase === 'running') {
      release = await source.hold();
      running = callers();
      await source.held();
    }
    if (chaos.phase !== 'start') await chaos.begin(stage, server);
    outcomes.push(...(await Promise.all(running)));
    for (let round = 0; round < ROUNDS; round++) outcomes.push(...(await Promise.all(callers())));
    await chaos.answered?.(stage).catch((error: unknown) => misses.push(String(error)));

    const ended = performance.now();
    await chaos.end(stage, server);
    lasts = false;
    await release();
    let tries = 0;
    let recovered = false;
    while (!recovered && performance.now() - ended < RECOVERY_MS) {
      tries += 1;
      recovered = (await ask(server.url, source.tool)).code === 'ok';
      if (!recovered) await delay(25);
    }
    const recoveredMs = performance.now() - ended;
    miss(!recovered, `not used again within ${RECOVERY_MS} ms`);
    const witnessed = await witness.stop();
    const slotsBackMs = await slotsBack(server, source.name);
    miss(slotsBackMs > SLOTS_BACK_MS, 'slots did not come back');
    await chaos.afterwards?.(stage, server).catch((error: unknown) => misses.push(String(error)));
    const callsMade = before + outcomes.length + tries + witnessed.calls;

    const codes = countOf(outcomes.map(({ code }) => code));
    for (const code of Object.keys(codes)) {
      const known = (CODES as readonly string[]).includes(code);
      miss(!known || !(chaos.codes as readonly string[]).includes(code), `ended as ${code}`);
    }
    miss(!(chaos.sees ?? chaos.codes).some((code) => code in codes), 'the fault was not noticed by any call');
    const slowestMs = Math.max(...outcomes.map(({ milliseconds }) => milliseconds));
    miss(slowestMs > DEADLINE_MS + LATE_MS + witnessed.machineWorst, `answered after ${Math.round(slowestMs)} ms`);
    miss(witnessed.failures.length > 0, `the other source: ${[...new Set(witnessed.failures)].join(', ')}`);
    const { p95, machineP95 } = witnessed;
    miss(
      p95 > NOTICED_MS + 2 * machineP95,
      `the other source: p95 ${Math.round(p95)} ms, /health ${Math.round(machineP95)} ms`,
    );
    miss(server.child.exitCode !== null, 'the process ended');
    miss((await fetch(`${server.url}/health`)).status !== 200, '/health does not answer');
    const exit = await server.stop();
    miss(exit !== 0, `exit code ${exit}`);
    miss(server.stderr !== '', 'something on stderr');
    misses.push(...unaudited(server.lines, callsMade), ...clearTexts(server.stdout + server.stderr));
    const { name, phase } = chaos;
    return { source: source.name, name, phase, codes, slowestMs, witness: witnessed, recoveredMs, slotsBackMs, misses };
  } finally {
    // A case that threw must not leave its server or its fault to the next one.
    server.kill('SIGKILL');
    await server.exited;
    if (lasts) {
      await chaos.end(stage, server);
      await release();
    }
    await source.proxy.set('pass');
    await prepared.close?.();
  }
}

interface Diagnostics {
  readonly connectors: Readonly<Record<string, Readonly<Record<'in_flight' | 'queued' | 'settling', number>>>>;
}

/** Milliseconds until /diagnostics shows no slot in use; more than the limit when they do not come back. */
async function slotsBack(server: ServerProcess, source: string): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const { connectors } = (await (await fetch(`${server.url}/diagnostics`)).json()) as Diagnostics;
    const { in_flight = -1, queued = -1, settling = -1 } = connectors[source] ?? {};
    const waited = performance.now() - begun;
    if ((in_flight === 0 && queued === 0 && settling === 0) || waited > SLOTS_BACK_MS) return waited;
    await delay(10);
  }
}

function unaudited(lines: readonly LogLine[], calls: number): string[] {
  const ids = (message: string) =>
    lines.filter((line) => line.message === message).map(({ correlation_id }) => String(correlation_id));
  const [starts, ends] = [ids('tool_invocation_started'), ids('tool_invocation_completed')];
  const wrong: string[] = [];
  if (starts.length !== calls) wrong.push(`${calls} calls, ${starts.length} starts in the audit`);
  if (new Set(starts).size !== starts.length) wrong.push('a start that was written twice');
  if (starts.toSorted().join() !== ends.toSorted().join()) wrong.push('starts and ends do not match');
  return wrong;
}

/** What must stand nowhere: the customer, and whatever tells who the source is. */
const CLEAR = [/16760320/, /16\.760\.320/, /Ana Mar/, /Restrepo/, /@example/, /1500000/, /\.prueba\b/, /sslmode/];

function clearTexts(written: string): string[] {
  const withoutIds = written.replace(/"(?:correlation_id|trace_id|timestamp)":"[^"]*"/g, '');
  return CLEAR.filter((pattern) => pattern.test(withoutIds)).map((pattern) => `written: ${pattern}`);
}

function countOf(codes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const code of codes) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}
