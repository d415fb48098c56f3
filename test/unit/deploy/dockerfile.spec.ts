import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { BASE_IMAGE } from '../../../deploy/verify/base-image.mjs';
import { all, last, readDockerfile } from '../../support/dockerfile.js';

const { globals, stages } = readDockerfile('Dockerfile');
const [build, production, final] = stages;
if (build === undefined || production === undefined || final === undefined)
  throw new Error('the Dockerfile has three stages');

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string;
  scripts: Record<string, string>;
};
const ignored = readFileSync('.dockerignore', 'utf8').split('\n');

describe('the Dockerfile', () => {
  it('takes the base of every stage as one build argument', () => {
    expect(globals).toEqual([{ name: 'ARG', text: `BASE_IMAGE=${BASE_IMAGE}` }]);
    expect(stages.map(({ base }) => base)).toEqual(Array.from({ length: 3 }, () => '${BASE_IMAGE}'));
  });

  it('says how the base is pinned by its digest, and needs no other syntax than the engine has', () => {
    const text = readFileSync('Dockerfile', 'utf8');
    expect(text).toContain(`BASE_IMAGE=${BASE_IMAGE}@sha256:`);
    expect(text).not.toMatch(/^# *syntax/m);
  });

  it('builds in one stage and installs for production in another, from the lock file, without install scripts', () => {
    expect(all(build.instructions, 'RUN')).toEqual([
      'npm ci --omit=optional --ignore-scripts --no-audit --no-fund',
      'npm run build',
    ]);
    expect(last(production.instructions, 'RUN').startsWith('chmod -R u=rwX,go=rX /app')).toBe(true);
    const install = all(production.instructions, 'RUN')[1] ?? '';
    expect(install).toContain('npm ci --omit=dev --omit=optional --ignore-scripts');
    expect(install).toContain('npm sbom --sbom-format=cyclonedx >sbom.cdx.json');
    expect(manifest.scripts['build']).toBe('nest build');
  });

  it('refuses a version that is not the one of package.json', () => {
    expect(all(production.instructions, 'ARG')).toEqual([`VERSION=${manifest.version}`]);
    expect(all(final.instructions, 'ARG')).toEqual([`VERSION=${manifest.version}`, 'REVISION=unknown']);
    expect(all(production.instructions, 'RUN')[0]).toContain("require('./package.json').version === process.argv[1]");
  });

  it('runs nothing and adds nothing but /app in the last stage', () => {
    expect(all(final.instructions, 'RUN')).toEqual([]);
    expect(all(final.instructions, 'COPY')).toEqual(['--from=production /app ./']);
    expect(stages.flatMap(({ instructions }) => all(instructions, 'ADD'))).toEqual([]);
  });

  it('runs as a number in group 0, which runAsNonRoot can judge and OpenShift can replace', () => {
    expect(last(final.instructions, 'USER')).toBe('1000:0');
  });

  it('starts, asks and stops without a shell', () => {
    expect(JSON.parse(last(final.instructions, 'ENTRYPOINT'))).toEqual([
      'node',
      '--max-semi-space-size=16',
      '/app/dist/main.js',
    ]);
    const [, command = ''] = last(final.instructions, 'HEALTHCHECK').split(' CMD ');
    expect(JSON.parse(command)).toEqual(['node', '/app/healthcheck.mjs']);
    expect(all(production.instructions, 'COPY')).toContain('deploy/image/healthcheck.mjs ./');
    expect(last(final.instructions, 'STOPSIGNAL')).toBe('SIGTERM');
  });

  it('sets what the server needs of its surroundings', () => {
    expect(last(final.instructions, 'ENV').split(' ')).toEqual(['NODE_ENV=production', 'UV_THREADPOOL_SIZE=16']);
    expect(manifest.scripts['start']).toContain('UV_THREADPOOL_SIZE=16');
  });

  it('wears the OCI labels of version and revision', () => {
    expect(last(final.instructions, 'LABEL')).toContain('org.opencontainers.image.version="${VERSION}"');
    expect(last(final.instructions, 'LABEL')).toContain('org.opencontainers.image.revision="${REVISION}"');
  });

  it('copies only what exists and what .dockerignore lets through', () => {
    const copied = [build, production]
      .flatMap(({ instructions }) => all(instructions, 'COPY'))
      .filter((text) => !text.startsWith('--from='))
      .flatMap((text) => text.split(' ').slice(0, -1));
    expect(copied.length).toBeGreaterThan(5);
    for (const source of copied) {
      expect(existsSync(source)).toBe(true);
      const whole = source.startsWith('deploy/') ? 'deploy/image' : source;
      expect(ignored).toContain(`!${whole}`);
    }
    expect(ignored).toContain('*');
  });
});
