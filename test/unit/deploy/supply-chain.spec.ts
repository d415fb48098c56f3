import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { licenceProblems, type LockedPackages, productionPackages } from '../../../scripts/licences.mjs';

const json = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
const manifest = json('package.json') as Record<string, Record<string, string> | undefined>;
const { packages } = json('package-lock.json') as { packages: LockedPackages };
const none = () => ({});

describe('the dependencies', () => {
  it('have exact versions', () => {
    const versions = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.entries(manifest[kind] ?? {}),
    );
    expect(versions.length).toBeGreaterThan(30);
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it('are in the lock file with what `npm ci` and `npm audit signatures` check: a version, an integrity, no other origin', () => {
    const odd = Object.entries(packages).filter(
      ([place, { version, integrity, resolved }]) =>
        place !== '' &&
        (version === undefined || !integrity?.startsWith('sha512-') || /^(?:git|file|http:)/.test(resolved ?? '')),
    );
    expect(odd.map(([place]) => place)).toEqual([]);
  });

  it('of production have licences that may be given on, and need no install script', () => {
    expect(productionPackages(packages).length).toBeGreaterThan(100);
    expect(licenceProblems(packages, (place) => json(`${place}/package.json`))).toEqual([]);
  });
});

describe('the check of licences', () => {
  it('finds a licence that binds our own code, none at all, and an install script', () => {
    const found = licenceProblems(
      {
        '': {},
        'node_modules/free': { license: 'MIT' },
        'node_modules/either': { license: '(GPL-3.0 OR MIT)' },
        'node_modules/both': { license: 'MIT AND GPL-3.0' },
        'node_modules/bound': { license: 'AGPL-3.0-only' },
        'node_modules/a/node_modules/silent': {},
        'node_modules/built': { license: 'ISC', hasInstallScript: true },
        'node_modules/tool': { license: 'GPL-3.0', dev: true },
        'node_modules/extra': { license: 'GPL-3.0', optional: true },
      },
      none,
    );
    expect(found).toEqual([
      'both: MIT AND GPL-3.0',
      'bound: AGPL-3.0-only',
      'silent: no licence',
      'built: needs its install script',
    ]);
  });

  it('reads the form of old packages', () => {
    const lock = { 'node_modules/old': {} };
    expect(licenceProblems(lock, () => ({ licenses: [{ type: 'MIT' }] }))).toEqual([]);
    expect(licenceProblems(lock, () => ({ licenses: [{ type: 'MIT' }, { type: 'GPL-2.0' }] }))).toEqual([
      'old: MIT, GPL-2.0',
    ]);
  });
});
