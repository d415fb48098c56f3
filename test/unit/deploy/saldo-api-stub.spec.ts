import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type SaldoStub, startSaldoStub } from '../../../deploy/dev/saldo-api-stub.mjs';

let stub: SaldoStub;
beforeEach(async () => {
  stub = await startSaldoStub();
});
afterEach(() => stub.close());

const ask = async (path: string, method = 'GET'): Promise<[number, string]> => {
  const response = await fetch(stub.url + path, { method });
  return [response.status, await response.text()];
};

describe('the balance stub', () => {
  it.each([
    ['/health', 200, '{"status": "ok"}'],
    ['/saldos/V16760320', 200, '{"cedula":"V16760320","saldo":1500000.5,"moneda":"COP"}'],
    ['/saldos/V16760321', 200, '{"cedula":"V16760321","saldo":320000.0,"moneda":"COP"}'],
    ['/saldos/V90000001', 500, '{"error":"error_simulado"}'],
    ['/saldos/V16760322', 404, '{"error":"cedula_no_encontrada"}'],
    ['/saldos/v16760320', 404, '{"error":"ruta_no_encontrada"}'],
    ['/saldos/V16760320?a=1', 404, '{"error":"ruta_no_encontrada"}'],
    ['/saldos/', 404, '{"error":"ruta_no_encontrada"}'],
    ['/', 404, '{"error":"ruta_no_encontrada"}'],
  ])('answers GET %s with %i %s', async (path, status, body) => {
    expect(await ask(path)).toEqual([status, body]);
  });

  it.each(['HEAD', 'POST', 'PUT', 'DELETE'])('does not know %s', async (method) => {
    const response = await fetch(`${stub.url}/saldos/V16760320`, { method });
    expect(response.status).toBe(501);
    expect(response.headers.get('content-type')).toContain('text/html');
  });

  it('listens on loopback only, unless told otherwise', () => {
    expect(stub.url).toBe(`http://127.0.0.1:${stub.port}`);
  });

  it('misbehaves for the identifiers made for that', async () => {
    const limited = await fetch(`${stub.url}/saldos/V90000003`);
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '2']);
    const [status, broken] = await ask('/saldos/V90000004');
    expect(status).toBe(200);
    expect(() => JSON.parse(broken) as unknown).toThrow(SyntaxError);
    expect(await ask('/saldos/V90000005')).toEqual([200, '{"cedula":"V99999999","saldo":1.0,"moneda":"COP"}']);
    await expect(ask('/saldos/V90000006')).rejects.toThrow();
  });

  it('misbehaves for everybody until it is told to stop, and stays healthy', async () => {
    stub.setFault({ kind: 'status', status: 418 });
    expect((await ask('/saldos/V16760320'))[0]).toBe(418);
    expect((await ask('/health'))[0]).toBe(200);
    stub.setFault({ kind: 'latency', ms: 1 });
    expect((await ask('/saldos/V16760320'))[1]).toContain('1500000.5');
    stub.setFault(undefined);
    expect((await ask('/saldos/V16760320'))[0]).toBe(200);
  });

  it('redirects, and pours a well-formed answer of any size, when told to', async () => {
    stub.setFault({ kind: 'redirect', location: `${stub.url}/health` });
    const redirect = await fetch(`${stub.url}/saldos/V16760320`, { redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, `${stub.url}/health`]);
    stub.setFault({ kind: 'large_body', bytes: 3_000_000 });
    const [status, body] = await ask('/saldos/V16760320');
    expect([status, body.length]).toEqual([200, 3_000_000]);
    expect(JSON.parse(body)).toMatchObject({ cedula: 'V16760320', saldo: 1500000.5 });
  });

  it('remembers what it was asked', async () => {
    await ask('/health');
    await ask('/saldos/V16760320');
    expect(stub.requests).toEqual([
      { method: 'GET', path: '/health' },
      { method: 'GET', path: '/saldos/V16760320' },
    ]);
  });

  it('is a program of its own that ends on SIGTERM', async () => {
    const script = fileURLToPath(new URL('../../../deploy/dev/saldo-api-stub.mjs', import.meta.url));
    const program = execFile(process.execPath, [script, '0']);
    const line = await new Promise<string>((resolve) => program.stdout?.once('data', (data) => resolve(String(data))));
    const { message, url } = JSON.parse(line) as { message: string; url: string };
    expect(message).toBe('saldo_api_stub_listening');
    expect(await (await fetch(`${url}/health`)).text()).toBe('{"status": "ok"}');
    const code = new Promise((resolve) => program.once('exit', resolve));
    program.kill('SIGTERM');
    expect(await code).toBe(0);
  });
});
