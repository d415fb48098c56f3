// @ts-check
/**
 * A Docker engine to verify with: the one that answers, else one of our own with its own socket and data, which goes again
 * with everything in it. Needs root, Debian's packages `docker.io iptables debootstrap` (installed here when apt can) and a
 * kernel with overlayfs and bridges.
 */
import { spawn } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { attempt, run, until } from './commands.mjs';
import { firewallNow, restoreFirewall } from './firewall.mjs';

const PACKAGES = ['docker.io', 'iptables', 'debootstrap'];
const FORWARDING = '/proc/sys/net/ipv4/ip_forward';

/**
 * @typedef {object} Engine
 * @property {boolean} own Whether everything in it goes with it.
 * @property {(args: readonly string[], options?: import('./commands.mjs').RunOptions) => Promise<string>} docker Throws when the command fails.
 * @property {(args: readonly string[], options?: import('./commands.mjs').RunOptions) => Promise<import('./commands.mjs').Ended>} tryDocker
 * @property {Record<string, string>} env For other programs that ask the engine.
 */

/** @param {import('./stage.mjs').Stage} stage @returns {Promise<Engine>} */
export async function findEngine(stage) {
  const present = await attempt('docker', ['info', '--format', '{{.ServerVersion}}']).catch(() => undefined);
  if (present?.code === 0 && present.stdout.trim() !== '') {
    stage.say(`using the engine that runs here, ${present.stdout.trim()}`);
    return engine('docker', {}, false);
  }
  if (process.getuid?.() !== 0) {
    throw new Error('no Docker engine answers here, and only root can start one: run as root, or where docker runs');
  }
  await installPackages(stage);
  return startEngine(stage);
}

/** @param {string} program @param {Record<string, string>} env @param {boolean} own @returns {Engine} */
function engine(program, env, own) {
  const all = { DOCKER_BUILDKIT: '1', ...env };
  return {
    own,
    env: all,
    docker: (args, options = {}) => run(program, args, { ...options, env: { ...all, ...options.env } }),
    tryDocker: (args, options = {}) => attempt(program, args, { ...options, env: { ...all, ...options.env } }),
  };
}

/** @param {import('./stage.mjs').Stage} stage */
async function installPackages(stage) {
  if (['/usr/sbin/dockerd', '/usr/sbin/iptables', '/usr/sbin/debootstrap'].every(isExecutable)) return;
  if (!isExecutable('/usr/bin/apt-get')) {
    throw new Error(`no Docker engine here, and no apt-get to install one: install ${PACKAGES.join(', ')}`);
  }
  stage.say(`installing ${PACKAGES.join(', ')}`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  // The package's own service must not start: the checks run an engine of their own.
  const policy = '/usr/sbin/policy-rc.d';
  const mayForbid = !isExecutable(policy);
  if (mayForbid) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await run('apt-get', ['update', '-qq'], { env, timeoutMs: 180_000 });
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...PACKAGES], { env, timeoutMs: 300_000 });
  } finally {
    if (mayForbid) rmSync(policy);
  }
}

/** @param {import('./stage.mjs').Stage} stage */
async function startEngine(stage) {
  const home = mkdtempSync(path.join(tmpdir(), 'mcp-corp-engine-'));
  // A program of its own: removing in this process would hold up the clock that bounds the clean-up.
  stage.afterwards(() => run('rm', ['-rf', home], { timeoutMs: 100_000 }));
  const forwarding = readFileSync(FORWARDING, 'utf8');
  const firewall = await firewallNow();
  stage.afterwards(async () => {
    await restoreFirewall(firewall);
    writeFileSync(FORWARDING, forwarding);
  });

  const socket = `unix://${path.join(home, 'sock')}`;
  const log = openSync(path.join(home, 'log'), 'a');
  const daemon = spawn(
    '/usr/sbin/dockerd',
    [
      ...['--data-root', path.join(home, 'data'), '--exec-root', path.join(home, 'exec')],
      ...['--pidfile', path.join(home, 'pid'), '-H', socket],
    ],
    { stdio: ['ignore', log, log] },
  );
  closeSync(log);
  const gone = once(daemon, 'exit');
  gone.catch(() => undefined);
  stage.afterwards(async () => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return;
    daemon.kill('SIGTERM');
    const patience = setTimeout(() => daemon.kill('SIGKILL'), 40_000);
    await gone;
    clearTimeout(patience);
  });

  // Debian's client, whose version is the daemon's.
  const bin = path.join(home, 'bin');
  mkdirSync(bin);
  symlinkSync('/usr/bin/docker', path.join(bin, 'docker'));
  const PATH = `${bin}:${process.env['PATH']}`;
  const own = engine('/usr/bin/docker', { DOCKER_HOST: socket, DOCKER_CONFIG: home, PATH }, true);
  const version = await until(
    `an engine of our own answers; its log ends: ${tail(path.join(home, 'log'))}`,
    async () => {
      if (daemon.exitCode !== null) throw new Error(`dockerd cannot run here: ${tail(path.join(home, 'log'))}`);
      const { code, stdout } = await own.tryDocker(['info', '--format', '{{.ServerVersion}} ({{.Driver}})']);
      return code === 0 && stdout.trim();
    },
  );
  stage.say(`started an engine of our own, ${version}`);
  stage.afterwards(async () => {
    const { stdout } = await own.tryDocker(['ps', '-aq']);
    const containers = stdout.split('\n').filter(Boolean);
    if (containers.length > 0) await own.tryDocker(['rm', '-f', ...containers]);
    await own.tryDocker(['network', 'prune', '-f']);
  });
  return own;
}

/** @param {string} file */
const tail = (file) => readFileSync(file, 'utf8').slice(-1000);

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
