// @ts-check
/**
 * The base image: the real one where it is present or can be pulled, else a stand-in from Debian's own packages and the
 * Node of npm, under the same name. The stand-in has what the Dockerfile and the checks rely on: Debian 12, Node 24, npm, a shell
 * for the build.
 */
import { createReadStream, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fromJson, run } from './commands.mjs';

export const BASE_IMAGE = 'node:24-bookworm-slim';

const PULL_MS = 120_000;
const CERTIFICATES = '/usr/local/share/ca-certificates';

/**
 * @param {import('./engine.mjs').Engine} engine
 * @param {import('./stage.mjs').Stage} stage
 * @returns {Promise<'real' | 'stand-in'>}
 */
export async function ensureBaseImage(engine, stage) {
  const found = await engine.tryDocker(['image', 'inspect', BASE_IMAGE]);
  if (found.code === 0) return 'real';
  const pulled = await engine.tryDocker(['pull', '-q', BASE_IMAGE], { timeoutMs: PULL_MS });
  if (pulled.code === 0) return 'real';
  stage.say(`${BASE_IMAGE} cannot be pulled here: making a stand-in`);
  if (!engine.own) stage.afterwards(() => engine.tryDocker(['image', 'rm', '-f', BASE_IMAGE]));
  await makeStandIn(engine, stage);
  return 'stand-in';
}

/** @param {import('./engine.mjs').Engine} engine @param {import('./stage.mjs').Stage} stage */
async function makeStandIn(engine, stage) {
  const changes = [
    'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    // So that npm reaches the registry where this machine has certificates of its own.
    'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt',
    'CMD ["node"]',
  ].flatMap((change) => ['-c', change]);
  // Making the tree takes a minute; who runs the checks again and again may keep it.
  const kept = process.env['VERIFY_BASE_TAR'];
  if (kept !== undefined && existsSync(kept)) {
    await engine.docker(['import', ...changes, '-', BASE_IMAGE], { input: createReadStream(kept), timeoutMs: 180_000 });
    return;
  }
  const home = mkdtempSync(path.join(tmpdir(), 'mcp-corp-base-'));
  stage.afterwards(async () => rmSync(home, { recursive: true, force: true }));
  const root = path.join(home, 'root');
  await run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root, debianMirror()], {
    timeoutMs: 300_000,
  });
  await installNode(home, root);
  await addCertificates(root);
  for (const folder of ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/locale', 'usr/share/man']) {
    rmSync(path.join(root, folder), { recursive: true, force: true });
  }
  const tar = kept ?? path.join(home, 'root.tar');
  await run('tar', ['-C', root, '-cf', tar, '.'], { timeoutMs: 120_000 });
  await engine.docker(['import', ...changes, '-', BASE_IMAGE], { input: createReadStream(tar), timeoutMs: 180_000 });
  rmSync(home, { recursive: true, force: true });
}

/** @param {string} home @param {string} root */
async function installNode(home, root) {
  const packages = path.join(home, 'npm');
  // The Node of the lock file, which is also the one that everything else is tested with.
  const lock = /** @type {{ packages: Record<string, { version: string }> }} */ (
    fromJson(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))
  );
  const name = `node-linux-${process.arch}`;
  const version = lock.packages[`node_modules/${name}`]?.version ?? '24';
  await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--no-save', '--prefix', packages, `${name}@${version}`, 'npm@11'],
    {
      timeoutMs: 180_000,
    },
  );
  const modules = path.join(packages, 'node_modules');
  const local = path.join(root, 'usr/local');
  await run('install', ['-D', '-m755', path.join(modules, name, 'bin/node'), path.join(local, 'bin/node')]);
  await run('mkdir', ['-p', path.join(local, 'lib/node_modules')]);
  await run('cp', ['-a', path.join(modules, 'npm'), path.join(local, 'lib/node_modules/')]);
  await run('chown', ['-R', 'root:root', local]);
  for (const tool of ['npm', 'npx']) {
    await run('ln', ['-sf', `../lib/node_modules/npm/bin/${tool}-cli.js`, path.join(local, 'bin', tool)]);
  }
}

/** @param {string} root */
async function addCertificates(root) {
  const own = existsSync(CERTIFICATES) ? readdirSync(CERTIFICATES).filter((file) => file.endsWith('.crt')) : [];
  for (const file of own) {
    await run('install', ['-D', '-m644', path.join(CERTIFICATES, file), path.join(root, CERTIFICATES, file)]);
  }
  await run('chroot', [root, 'update-ca-certificates']);
}

/** Where this machine's own packages come from. */
function debianMirror() {
  for (const file of ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list']) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const mirror = /^URIs: *(\S+)/m.exec(text)?.[1] ?? /^deb (?:\[[^\]]*\] )?(\S+)/m.exec(text)?.[1];
    if (mirror !== undefined) return mirror;
  }
  throw new Error('this machine has no Debian mirror configured: a stand-in base image cannot be made');
}
