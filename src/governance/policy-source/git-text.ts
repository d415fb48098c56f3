import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentSecrets } from '../../config/environment-secrets.js';
import { MAX_ARTEFACT_BYTES } from '../policy-file/yaml-text.js';
import type { PolicySpecifier, PolicyText } from './specifier.js';
import { PolicyUnreachableError } from './unreachable.js';

type GitSpecifier = Extract<PolicySpecifier, { kind: 'git' }>;

/** Milliseconds for everything together. */
const TOTAL_MS = 30_000;

/** What of our environment git and ssh may see; nothing that could change what they do, and no secret of ours. */
const INHERITED = ['PATH', 'HOME', 'SSH_AUTH_SOCK', 'GIT_SSL_CAINFO'];

/** The name that the ref gets here; nothing of the other side has one under it. */
const HERE = 'refs/mcp-corp/policy';

/**
 * Settings that nobody else can give: redirects, hooks, submodules and other programs are off, certificates are verified, a
 * transfer that stands still ends.
 */
const CONFIG = [
  ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.symlinks=false', 'fetch.recurseSubmodules=false'],
  ...['http.followRedirects=false', 'http.sslVerify=true', 'http.lowSpeedLimit=1', 'http.lowSpeedTime=10'],
  ...['gc.auto=0', 'maintenance.auto=false', 'transfer.fsckObjects=true', 'protocol.version=2'],
].flatMap((setting) => ['-c', setting]);

export interface GitOptions {
  readonly totalMs?: number;
  readonly variable?: (name: string) => string | undefined;
}

/**
 * One file of one commit, fetched into a folder of its own that goes when it is read: two refs of one repository can be read
 * at once (spec W-12), and nobody else can have prepared the folder. The version is the commit. How to log in is git's own
 * business: an ssh agent, or `~/.netrc`. Rejects with a PolicyUnreachableError of which the code says how far it came.
 */
export async function gitText(
  { url, ref, path }: GitSpecifier,
  { totalMs = TOTAL_MS, variable = environmentSecrets() }: GitOptions = {},
): Promise<PolicyText> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-corp-policy-'));
  const late = AbortSignal.timeout(totalMs);
  const git = (problem: string, ...args: readonly string[]): Promise<Buffer> =>
    run([...CONFIG, ...args], folder, environmentOf(variable, url), late, problem);
  try {
    await git('git_failed', 'init', '--quiet', '--bare', '--template=', folder);
    await git('git_fetch', 'fetch', '--quiet', '--no-tags', '--depth=1', '--end-of-options', url, `+${ref}:${HERE}`);
    const sha = (await git('git_ref', 'rev-parse', '--verify', '--quiet', `${HERE}^{commit}`)).toString().trim();
    if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(sha)) throw new PolicyUnreachableError('git_ref');
    const bytes = await git('git_file', 'cat-file', 'blob', `${sha}:${path}`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (text.trim() === '') throw new PolicyUnreachableError('empty');
    return { text, version: sha };
  } catch (error) {
    if (error instanceof PolicyUnreachableError) throw error;
    throw new PolicyUnreachableError('not_text');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function environmentOf(variable: (name: string) => string | undefined, url: string): Record<string, string> {
  const inherited = INHERITED.flatMap((name): [string, string][] => {
    const value = variable(name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...Object.fromEntries(inherited),
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes -oConnectTimeout=10',
    // Beside what the form of the specifier allows: a repository cannot send us to another kind of place.
    GIT_ALLOW_PROTOCOL: url.startsWith('http:') ? 'http' : 'https:ssh:file',
    GIT_NO_REPLACE_OBJECTS: '1',
  };
}

/**
 * No shell. A process group of its own, killed as a whole: git's helpers, which do the talking, outlive a git that is killed
 * alone. What it writes to stderr names the repository, and is not told.
 */
function run(
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
  signal: AbortSignal,
  problem: string,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new PolicyUnreachableError('timeout'));
    const child = spawn('git', args, { cwd, env, detached: true, shell: false, stdio: ['ignore', 'pipe', 'ignore'] });
    const chunks: Buffer[] = [];
    let size = 0;
    let cut: string | undefined;
    const end = (reason: string): void => {
      cut ??= reason;
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) endGroup(child.pid);
    };
    const late = (): void => end('timeout');
    signal.addEventListener('abort', late);
    child.stdout.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_ARTEFACT_BYTES) end('too_large');
    });
    child.on('error', ({ code }: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', late);
      reject(new PolicyUnreachableError(code === 'ENOENT' ? 'git_not_installed' : problem));
    });
    child.on('close', (code) => {
      signal.removeEventListener('abort', late);
      if (code === 0 && cut === undefined) resolve(Buffer.concat(chunks));
      else reject(new PolicyUnreachableError(cut ?? problem));
    });
  });
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // It has just ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
