import { rename, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Discover } from '../governance/load-served.js';
import { declaredText } from '../governance/upstreams/declared-catalogue.js';
import { DiscoveryError } from '../governance/upstreams/discovery.js';
import { remoteUpstreams } from '../governance/upstreams/upstream-tools.js';
import { CommandFailure, EXIT_CODES } from './exit-codes.js';
import { compiledPolicy, type Product } from './policy-argument.js';
import { asJson, type Terminal } from './terminal.js';

export interface CatalogFlags {
  readonly json?: true;
  readonly out?: string;
}

/**
 * Asks the upstreams of a policy what they have and writes it down as a declared catalogue, each definition pinned. All of it
 * or nothing: the first upstream that fails ends it (3), and a file is there whole or as it was.
 */
export async function catalog(
  origin: string,
  { json, out }: CatalogFlags,
  product: Product,
  terminal: Terminal,
  discover: Discover,
): Promise<number> {
  const { policy, version } = await compiledPolicy(origin, product);
  let text: string;
  let counts: readonly (readonly [string, number])[];
  try {
    const tools = await discover(remoteUpstreams(policy));
    text = declaredText(tools);
    counts = [...tools].map(([upstream, all]) => [upstream, all.length] as const);
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error;
    throw new CommandFailure(EXIT_CODES.unreachable, error.message);
  }
  if (out === undefined && json !== true) terminal.out(text);
  if (out !== undefined) await writeWhole(resolve(out), text);
  if (json === true) terminal.out(asJson({ origin, version, upstreams: Object.fromEntries(counts), out: out ?? null }));
  else if (out !== undefined) for (const [upstream, total] of counts) terminal.err(`${upstream}: ${total} tools\n`);
  return EXIT_CODES.ok;
}

/** A name beside it, then one step: a reader sees the old file or the new one. */
async function writeWhole(path: string, text: string): Promise<void> {
  const beside = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(beside, text, { flag: 'wx' });
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandFailure(EXIT_CODES.unreachable, `${path} cannot be written (${code ?? 'unknown'})`);
  }
}
