import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, mkdirSync, readdirSync, rmSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { boundedSender } from '../../../../src/governance/outbound/bounded-request.js';
import { gitText } from '../../../../src/governance/policy-source/git-text.js';
import { policyText } from '../../../../src/governance/policy-source/policy-text.js';
import { problemOfSpecifier, specifierOf } from '../../../../src/governance/policy-source/specifier.js';
import { makeCertificate } from '../../../support/certificates.js';
import { startHttpServer, startRawServer } from '../../../support/http-server.js';
import { until } from '../../../support/until.js';

const folder = mkdtempSync(join(tmpdir(), 'policy-source-'));
const repository = join(folder, 'repo');
const shas: string[] = [];

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
    cwd: repository,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  }).trim();

const commit = (text: string): string => {
  mkdirSync(join(repository, 'politicas'), { recursive: true });
  writeFileSync(join(repository, 'politicas', 'p.yaml'), text);
  git('add', '-A');
  git('commit', '-q', '-m', 'x');
  return git('rev-parse', 'HEAD');
};

beforeAll(() => {
  mkdirSync(repository);
  git('init', '-q', '-b', 'main');
  git('config', 'uploadpack.allowAnySHA1InWant', 'true');
  shas.push(commit('version: uno\n'));
  git('tag', '-a', 'v1', '-m', 'v1');
  git('branch', 'viejo/uno');
  shas.push(commit('version: dos\n'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const left = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('mcp-corp-policy-'));

describe('where a policy is', () => {
  it.each([
    ['policy.yaml', { kind: 'file', path: 'policy.yaml' }],
    ['/etc/git+x#y:z', { kind: 'file', path: '/etc/git+x#y:z' }],
    ['https://p.example.com/a.yaml?x=1', { kind: 'https', url: 'https://p.example.com/a.yaml?x=1' }],
    ['http://127.0.0.1:8080/a', { kind: 'https', url: 'http://127.0.0.1:8080/a' }],
    [
      'git+https://g.example.com/o/r.git#main:a/b.yaml',
      { kind: 'git', url: 'https://g.example.com/o/r.git', ref: 'main', path: 'a/b.yaml' },
    ],
    [
      'git+ssh://git@g.example.com/o/r#v1.2:p.yaml',
      { kind: 'git', url: 'ssh://git@g.example.com/o/r', ref: 'v1.2', path: 'p.yaml' },
    ],
    ['git+/srv/repo#a/b:p.yaml', { kind: 'git', url: '/srv/repo', ref: 'a/b', path: 'p.yaml' }],
  ])('is read from %s', (text, specifier) => {
    expect(specifierOf(text)).toEqual(specifier);
  });

  it.each([
    'http://policies.example.com/p.yaml',
    'http://127.0.0.1@example.com/p.yaml',
    'https://ana:secreta@p.example.com/p.yaml',
    'git+https://g.example.com/r.git',
    'git+https://g.example.com/r.git#main',
    'git+https://g.example.com/r.git#:p.yaml',
    'git+https://g.example.com/r.git#main:',
    'git+https://ana:secreta@g.example.com/r.git#main:p.yaml',
    'git+http://g.example.com/r.git#main:p.yaml',
    'git+git://g.example.com/r.git#main:p.yaml',
    'git+ext::sh -c id#main:p.yaml',
    'git+ssh://-oProxyCommand=id/r#main:p.yaml',
    'git+--upload-pack=id#main:p.yaml',
    'git+../repo#main:p.yaml',
    'git+/srv/repo#--output=x:p.yaml',
    'git+/srv/repo#a..b:p.yaml',
    'git+/srv/repo#main:../p.yaml',
    'git+/srv/repo#main:/etc/passwd',
  ])('is refused, without being repeated, in the form %s', (text) => {
    const problem = problemOfSpecifier(text);
    expect(problem).toMatch(/^must (?:be|have)/);
    expect(problem).not.toMatch(/secreta|example/);
  });
});

describe('a policy over https', () => {
  const authority = makeCertificate({ name: 'autoridad' });
  const certificate = makeCertificate({ name: 'localhost', hosts: ['127.0.0.1'], issuer: authority });
  const tls = { cert: certificate.cert, key: certificate.key };

  it('is its text, over TLS that is verified even where the environment says not to', async () => {
    const server = await startHttpServer((_, response) => response.end('version: 1\n'), { tls });
    expect(await policyText(`${server.url}/p.yaml`, boundedSender({ ca: authority.cert }))).toEqual({
      text: 'version: 1\n',
    });
    expect(server.requests[0]?.headers).toMatchObject({ 'cache-control': 'no-cache' });
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      await expect(policyText(`${server.url}/p.yaml`)).rejects.toMatchObject({ name: 'PolicyUnreachableError' });
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
    await server.close();
  });

  it.each([
    ['404', 404, {}, 'no', 'HTTP 404'],
    ['a redirect, which is not followed', 302, { location: '/otra' }, '', 'HTTP 302'],
    ['nothing', 200, {}, ' \n', 'empty'],
    ['more than a policy may have', 200, {}, 'x'.repeat(1_100_000), 'too_large'],
    ['what is no text', 200, {}, Buffer.from([0xff, 0xfe]), 'not_text'],
  ])('that answers %s is unreachable', async (_, status, headers, body, code) => {
    const server = await startHttpServer((request, response) => {
      response.writeHead(request.url === '/otra' ? 200 : status, headers);
      response.end(request.url === '/otra' ? 'version: 1' : body);
    });
    await expect(policyText(`${server.url}/p.yaml`)).rejects.toMatchObject({ name: 'PolicyUnreachableError', code });
    expect(server.requests).toHaveLength(1);
    await server.close();
  });

  it('is unreachable without a word about where it should have been', async () => {
    const server = await startHttpServer(() => undefined);
    await server.close();
    const error = await policyText(`${server.url}/sentinela.yaml`).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: 'ECONNREFUSED', message: 'the policy cannot be read (ECONNREFUSED)' });
  });

  it('has an end in time, also when it drips', async () => {
    const server = await startHttpServer((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
    });
    await expect(boundedSender()(server.url, { maxBytes: 1_000, timeoutMs: 150 })).rejects.toMatchObject({
      problem: 'timeout',
    });
    await server.idle();
    await server.close();
  });
});

describe('a policy in git', () => {
  it('is the file of the commit of a branch, a tag or a commit, and its version is the commit', async () => {
    expect(await policyText(`git+${repository}#main:politicas/p.yaml`)).toEqual({
      text: 'version: dos\n',
      version: shas[1],
    });
    expect(await policyText(`git+file://${repository}#v1:politicas/p.yaml`)).toEqual({
      text: 'version: uno\n',
      version: shas[0],
    });
    expect(await policyText(`git+${repository}#${shas[0]}:politicas/p.yaml`)).toEqual({
      text: 'version: uno\n',
      version: shas[0],
    });
  });

  it('is always that of its own ref, however many are read at a time', async () => {
    const refs = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? 'main' : 'viejo/uno'));
    const texts = await Promise.all(refs.map((ref) => policyText(`git+${repository}#${ref}:politicas/p.yaml`)));
    expect(texts.map(({ text }) => text)).toEqual(refs.map((ref) => `version: ${ref === 'main' ? 'dos' : 'uno'}\n`));
    expect(left()).toEqual([]);
  });

  it.each([
    ['the repository', () => `git+${folder}/nada#main:p.yaml`, 'git_fetch'],
    ['the ref', () => `git+${repository}#nada:politicas/p.yaml`, 'git_fetch'],
    ['the file', () => `git+${repository}#main:politicas/nada.yaml`, 'git_file'],
    ['a file, but a folder', () => `git+${repository}#main:politicas`, 'git_file'],
  ])('cannot be had when it is not %s', async (_, written, code) => {
    await expect(policyText(written())).rejects.toMatchObject({ name: 'PolicyUnreachableError', code });
    expect(left()).toEqual([]);
  });

  it('runs no hook and obeys no configuration of the machine', async () => {
    const home = join(folder, 'home');
    const mark = join(folder, 'ran');
    const program = join(home, 'hook');
    mkdirSync(home);
    writeFileSync(program, `#!/bin/sh\ntouch ${mark}\nexec "$@"\n`);
    chmodSync(program, 0o755);
    for (const name of ['reference-transaction', 'post-checkout', 'post-index-change']) {
      writeFileSync(join(home, name), `#!/bin/sh\ntouch ${mark}\n`);
      chmodSync(join(home, name), 0o755);
    }
    writeFileSync(
      join(home, '.gitconfig'),
      `[core]\nhooksPath=${home}\n[init]\ntemplateDir=${home}\n[uploadpack]\npackObjectsHook=${program}\n` +
        `[url "${folder}/otra"]\ninsteadOf=${repository}\n`,
    );
    const variable = (name: string) => (name === 'HOME' ? home : process.env[name]);
    const specifier = { kind: 'git', url: repository, ref: 'main', path: 'politicas/p.yaml' } as const;
    expect(await gitText(specifier, { variable })).toMatchObject({ text: 'version: dos\n' });
    expect(existsSync(mark)).toBe(false);
  });

  it('has an end in time, and no process is left behind', async () => {
    // Read, or else nobody notices that the other side has gone.
    const mute = await startRawServer((socket) => void socket.resume());
    const specifier = { kind: 'git', url: `${mute.url}/r.git`, ref: 'main', path: 'p.yaml' } as const;
    const reading = gitText(specifier, { totalMs: 700 });
    await until(() => mute.open.size > 0);
    await expect(reading).rejects.toMatchObject({ code: 'timeout' });
    await mute.idle();
    expect(left()).toEqual([]);
    await mute.close();
  });

  it('is not had without git, which is said', async () => {
    const specifier = { kind: 'git', url: repository, ref: 'main', path: 'p' } as const;
    await expect(gitText(specifier, { variable: () => '/nada' })).rejects.toMatchObject({ code: 'git_not_installed' });
  });
});
