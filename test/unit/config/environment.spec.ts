import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dotenvOf, settingsOfProcess } from '../../../src/config/environment.js';
import { ServiceSettings } from '../../../src/config/service.settings.js';
import { problemsOf, rendered, store, StoreSettings } from './sections.js';

let folder: string;
const place = (name: string) => join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('.env', () => {
  it('is optional', () => {
    expect(dotenvOf(folder)).toBeUndefined();
  });

  it('is read as it stands', () => {
    writeFileSync(place('.env'), 'MCP_CORP_SERVICE_NAME=ñ\n');
    expect(dotenvOf(folder)).toBe('MCP_CORP_SERVICE_NAME=ñ\n');
  });

  it('that cannot be read is a problem of its own', () => {
    mkdirSync(place('.env'));
    expect(rendered(problemsOf(() => dotenvOf(folder)))).toBe(
      '.env is in the working directory but cannot be read: is a directory (EISDIR)',
    );
  });
});

describe('the settings of the process', () => {
  it('come from its environment and its working directory, and leave both as they were', () => {
    writeFileSync(place('.env'), 'MCP_CORP_STORE__DSN=from-dotenv\nMCP_CORP_SERVICE_NAME=from-dotenv\n');
    writeFileSync(place('pool'), '42\n');
    const home = process.cwd();
    try {
      process.chdir(folder);
      process.env.MCP_CORP_SERVICE_NAME = 'from-process';
      process.env.MCP_CORP_STORE__MAX_POOL_SIZE_FILE = place('pool');
      const before = { ...process.env };
      const settings = settingsOfProcess([StoreSettings]);
      expect(settings.get(ServiceSettings).serviceName).toBe('from-process');
      expect(settings.get(StoreSettings)).toMatchObject({ dsn: 'from-dotenv', maxPoolSize: 42 });
      expect({ ...process.env }).toEqual(before);
    } finally {
      process.chdir(home);
      delete process.env.MCP_CORP_SERVICE_NAME;
      delete process.env.MCP_CORP_STORE__MAX_POOL_SIZE_FILE;
    }
  });
});

describe('a secret file', () => {
  const fromFile = (name: string) => () => store({ MCP_CORP_STORE__DSN_FILE: place(name) });
  const reason = (name: string) => rendered(problemsOf(fromFile(name)));

  it('may be behind symbolic links, as Kubernetes mounts them', () => {
    writeFileSync(place('data'), 'dsn-de-prueba\n');
    symlinkSync('data', place('link'));
    expect(fromFile('link')().dsn).toBe('dsn-de-prueba');
  });

  it('that is missing or a folder is a problem without its path', () => {
    mkdirSync(place('directory'));
    expect(reason('absent')).toMatch(/no se pudo leer: no such file or directory \(ENOENT\)$/);
    expect(reason('directory')).toMatch(/no se pudo leer: is a directory \(EISDIR\)$/);
    expect(reason('absent') + reason('directory')).not.toContain(folder);
  });

  it('that never ends is not read to its end', () => {
    expect(rendered(problemsOf(() => store({ MCP_CORP_STORE__DSN_FILE: '/dev/zero' })))).toMatch(
      /is not a regular file$/,
    );
    writeFileSync(place('large'), 'a'.repeat(65_537));
    expect(reason('large')).toMatch(/is larger than 65536 bytes$/);
  });

  it('that is a pipe nobody writes to does not hang the start', () => {
    execFileSync('mkfifo', [place('pipe')]);
    expect(reason('pipe')).toMatch(/is not a regular file$/);
  });
});
