import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { loadSettings } from '../../../src/config/load-settings.js';
import { rotatingSecret, type SecretChange } from '../../../src/config/rotating-secret.js';
import { Setting } from '../../../src/config/setting.js';
import { until } from '../../support/until.js';

class Section {
  static readonly section = 'PRUEBA';
  @Setting({ doc: 'A secret.', secret: true }) clave?: string;
  @Setting({ doc: 'No secret.' }) otra?: string;
}

const folder = mkdtempSync(join(tmpdir(), 'rotating-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'clave');
const put = (text: string | Buffer) => {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
};

function secretOf(env: Record<string, string>, property: 'clave' | 'otra' = 'clave') {
  const settings = loadSettings(env, [Section]).get(Section);
  const changes: [SecretChange, string][] = [];
  const time = { now: 0 };
  const secret = rotatingSecret<Section, string>(settings, property, {
    initial: settings[property] ?? '',
    accept: (text) => {
      if (text.includes(' ')) throw new TypeError('blank');
      return text;
    },
    told: (change, variable) => void changes.push([change, variable]),
    now: () => time.now,
  });
  return { secret, changes, time };
}

const VARIABLE = 'MCP_CORP_PRUEBA__CLAVE';

describe('a secret that was given as a file', () => {
  it('is the one of now, trimmed, and another epoch says that it is another one', async () => {
    put('uno\n');
    const { secret, changes } = secretOf({ [`${VARIABLE}_FILE`]: path });
    expect([await secret?.read(), secret?.epoch]).toEqual(['uno', 0]);
    put('dos\n');
    expect([await secret?.read(), secret?.epoch]).toEqual(['dos', 1]);
    expect([await secret?.read(), secret?.epoch]).toEqual(['dos', 1]);
    expect(changes).toEqual([['rotated', VARIABLE]]);
  });

  it('that was replaced between the start and the first look is found by that look', async () => {
    put('uno');
    const { secret } = secretOf({ [`${VARIABLE}_FILE`]: path });
    put('dos');
    // A look is not waited for longer than 250 ms; on a busy machine the first may take that long.
    await until(async () => (await secret?.read()) === 'dos');
    expect(secret?.epoch).toBe(1);
  });

  it('is not looked at again before the last look is old enough', async () => {
    put('uno');
    const { secret, time } = secretOf({ [`${VARIABLE}_FILE`]: path });
    await secret?.read(1_000);
    put('dos');
    time.now = 999;
    expect(await secret?.read(1_000)).toBe('uno');
    time.now = 1_000;
    expect(await secret?.read(1_000)).toBe('dos');
  });

  it('stays the last good one while the file cannot be read or used, which is told once', async () => {
    put('uno');
    const { secret, changes } = secretOf({ [`${VARIABLE}_FILE`]: path });
    rmSync(path);
    expect([await secret?.read(), await secret?.read()]).toEqual(['uno', 'uno']);
    put(Buffer.from([0xff, 0xfe, 0x41]));
    expect(await secret?.read()).toBe('uno');
    put('con espacios');
    expect([await secret?.read(), await secret?.read()]).toEqual(['uno', 'uno']);
    put('dos');
    expect(await secret?.read()).toBe('dos');
    expect(changes.map(([change]) => change)).toEqual(['unreadable', 'unusable', 'rotated']);
  });

  it('does not rotate when it came from elsewhere, or is no secret', () => {
    put('uno');
    expect(secretOf({ [VARIABLE]: 'directa', [`${VARIABLE}_FILE`]: path }).secret).toBeUndefined();
    expect(secretOf({}).secret).toBeUndefined();
    expect(secretOf({ MCP_CORP_PRUEBA__OTRA_FILE: path }, 'otra').secret).toBeUndefined();
  });
});
