import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { environmentSecrets } from '../../../../src/config/environment-secrets.js';
import { accountId } from '../../../../src/governance/core/index.js';
import { AccountCredentials } from '../../../../src/governance/secrets/account-credentials.js';
import { envSecret } from '../../../../src/governance/secrets/env-secret.js';
import { fileSecret } from '../../../../src/governance/secrets/file-secret.js';
import { Secrets } from '../../../../src/governance/secrets/secret-text.js';

const { signal } = new AbortController();
const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));

const secrets = (env: Record<string, string> = {}) =>
  new Secrets({ env: envSecret(environmentSecrets(env)), file: fileSecret() });

function put(name: string, text: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
  return `file://${path}`;
}

describe('a secret behind a reference', () => {
  it('is a variable or a file, without the white space around it', async () => {
    expect(await secrets({ CLAVE: ' uno\n' }).read('env://CLAVE', signal)).toBe('uno');
    expect(await secrets().read(put('dos', 'dos\n'), signal)).toBe('dos');
  });

  it('is the new one from the next use on when its file is replaced, also behind a link', async () => {
    const one = secrets();
    put('viejo', 'primera');
    const other = put('nuevo', 'segunda');
    const link = join(folder, 'enlace');
    symlinkSync(join(folder, 'viejo'), link);
    expect(await one.read(`file://${link}`, signal)).toBe('primera');
    rmSync(link);
    symlinkSync(other.slice('file://'.length), link);
    expect(await one.read(`file://${link}`, signal)).toBe('segunda');
    put('nuevo', 'tercera');
    expect(await one.read(`file://${link}`, signal)).toBe('tercera');
    rmSync(join(folder, 'nuevo'));
    await expect(one.read(`file://${link}`, signal)).rejects.toThrow('absent');
  });

  it.each([
    ['env://NO_EXISTE', 'absent'],
    ['env://VACIA', 'absent'],
    ['env://toString', 'absent'],
    ['file:///no/existe/sentinela', 'absent'],
    ['file://relativa/sentinela', 'unreadable'],
    [`file://${folder}`, 'unreadable'],
    ['file:///dev/null', 'unreadable'],
    ['vault://kv/sentinela', 'unknown_scheme'],
    ['sentinela', 'unknown_scheme'],
  ])('cannot be had from %s, and the error does not say from where', async (reference, problem) => {
    const error = await secrets({ VACIA: '' })
      .read(reference, signal)
      .then(
        () => undefined,
        (thrown: Error) => thrown,
      );
    expect(error).toMatchObject({ name: 'SecretError', problem });
    expect(`${error?.message} ${error?.stack} ${JSON.stringify(error)} ${String(error?.cause)}`).not.toMatch(
      /sentinela|NO_EXISTE|secrets-/,
    );
  });

  it.each([
    ['too large', Buffer.alloc(65_537, 'a')],
    ['not UTF-8', Buffer.from([0xff, 0xfe, 0x61])],
  ])('is refused when its file is %s', async (name, bytes) => {
    await expect(secrets().read(put(name.replace(' ', '-'), bytes), signal)).rejects.toThrow('unreadable');
  });

  it('holds nobody longer than his own signal', async () => {
    const leave = new AbortController();
    const hanging = new Secrets({ env: () => new Promise<string>(() => undefined) });
    const waiting = hanging.read('env://X', leave.signal);
    leave.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
  });
});

describe('the credential of an account', () => {
  it('has an epoch that changes with the secret and the account, and does not tell it', async () => {
    const env: Record<string, string> = { A: 'uno', B: 'uno' };
    const credentials = new AccountCredentials(secrets(env));
    const of = (account: string, ref: string) => credentials.resolve(accountId(account), ref, signal);
    const first = await of('a', 'env://A');
    expect(first).toEqual({ account: 'a', epoch: first.epoch, secret: 'uno' });
    expect((await of('a', 'env://A')).epoch).toBe(first.epoch);
    expect((await of('b', 'env://B')).epoch).not.toBe(first.epoch);
    expect((await new AccountCredentials(secrets(env)).resolve(accountId('a'), 'env://A', signal)).epoch).not.toBe(
      first.epoch,
    );
    env['A'] = 'dos';
    expect((await of('a', 'env://A')).epoch).not.toBe(first.epoch);
  });
});
