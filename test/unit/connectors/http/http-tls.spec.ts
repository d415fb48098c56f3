import { afterEach, describe, expect, it } from '@jest/globals';
import { type RequestListener } from 'node:http';
import { type TlsOptions, type TLSSocket } from 'node:tls';
import { HttpCancelledError, HttpTransportError } from '../../../../src/connectors/http/http-errors.js';
import { SourceResolver } from '../../../../src/connectors/source-resolver.js';
import { makeCertificate } from '../../../support/certificates.js';
import { startHttpServer, startRawServer, type TestServer } from '../../../support/http-server.js';
import { apiAt, failureOf, get } from './support.js';

const authority = makeCertificate({ name: 'Autoridad de prueba' });
const stranger = makeCertificate({ name: 'Autoridad ajena' });
const forLoopback = makeCertificate({ name: 'api', hosts: ['127.0.0.1', 'api.example'], issuer: authority });

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(
  tls: TlsOptions,
  handler: RequestListener = (_request, response) => void response.end('{}'),
): Promise<TestServer> {
  const server = await startHttpServer(handler, { tls });
  closing.push(() => server.close());
  return server;
}

function connectTo(...where: Parameters<typeof apiAt>): ReturnType<typeof apiAt> {
  const api = apiAt(...where);
  closing.push(() => api.connector.close());
  return api;
}

const tlsOf = ({ cert, key }: { cert: string; key: string }): TlsOptions => ({ cert, key });

describe('HttpConnector over TLS', () => {
  it('talks to a source whose certificate the configured authority signed', async () => {
    const server = await serve(tlsOf(forLoopback));
    const { connector } = connectTo(server.url, { tlsCa: authority.cert });
    expect(await get(connector, 'a')).toEqual({ status: 200, body: {} });
    expect(await get(connector, 'a')).toEqual({ status: 200, body: {} });
    expect(server.connections).toBe(1);
  });

  it('checks the name it was told, not the address it found', async () => {
    const server = await serve(tlsOf(forLoopback));
    const resolver = new SourceResolver({ ask: async () => [{ address: '127.0.0.1', family: 4 }] });
    const right = connectTo(`https://api.example:${server.port}`, { tlsCa: authority.cert }, { resolver });
    expect(await get(right.connector, 'a')).toMatchObject({ status: 200 });
    const wrong = connectTo(`https://otra.example:${server.port}`, { tlsCa: authority.cert }, { resolver });
    expect(await failureOf(get(wrong.connector, 'a'))).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  it.each([
    ['of an unknown authority', forLoopback, { tlsCa: stranger.cert }],
    ['that no configured authority signed', forLoopback, {}],
    ['signed by itself', makeCertificate({ name: 'sola', hosts: ['127.0.0.1'] }), {}],
    [
      'for another host',
      makeCertificate({ name: 'x', hosts: ['x.example'], issuer: authority }),
      { tlsCa: authority.cert },
    ],
    [
      'that has expired',
      makeCertificate({ name: 'v', hosts: ['127.0.0.1'], issuer: authority, notAfter: new Date(Date.now() - 1000) }),
      { tlsCa: authority.cert },
    ],
  ])(
    'refuses a certificate %s while connecting, before a byte of the request is sent',
    async (_name, certificate, values) => {
      const server = await serve(tlsOf(certificate));
      const { connector } = connectTo(server.url, values);
      const error = await failureOf(get(connector, 'saldos', 'V1'));
      expect(error).toBeInstanceOf(HttpTransportError);
      expect(connector.classify(error)).toEqual({ kind: 'infrastructure', connecting: true });
      expect(server.requests).toEqual([]);
      await server.idle();
    },
  );

  it('is not talked out of checking by the environment', async () => {
    const server = await serve(tlsOf(forLoopback));
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await failureOf(get(connectTo(server.url).connector, 'a'))).toBeInstanceOf(HttpTransportError);
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  it('presents its own certificate to a source that asks for one', async () => {
    const client = makeCertificate({ name: 'mcp-corp', issuer: authority });
    const server = await serve(
      { ...tlsOf(forLoopback), requestCert: true, rejectUnauthorized: true, ca: authority.cert },
      (request, response) => {
        const { subject } = (request.socket as TLSSocket).getPeerCertificate();
        response.end(JSON.stringify({ subject: subject.CN }));
      },
    );
    const mine = connectTo(server.url, { tlsCa: authority.cert, tlsCert: client.cert, tlsKey: client.key });
    expect(await get(mine.connector, 'a')).toEqual({ status: 200, body: { subject: 'mcp-corp' } });
    const nobody = connectTo(server.url, { tlsCa: authority.cert });
    expect(await failureOf(get(nobody.connector, 'a'))).toBeInstanceOf(HttpTransportError);
  });

  it('replaces an idle connection that the source had closed', async () => {
    let requests = 0;
    const server = await serve(tlsOf(forLoopback), (request, response) => {
      requests += 1;
      if (requests === 2) request.socket.destroy();
      else response.end('{}');
    });
    const { connector } = connectTo(server.url, { tlsCa: authority.cert });
    await get(connector, 'a');
    expect(await get(connector, 'a')).toEqual({ status: 200, body: {} });
    expect(requests).toBe(3);
    expect(server.connections).toBe(2);
  });

  it('destroys a connection that never gets through its handshake', async () => {
    let arrived = (): void => undefined;
    const accepted = new Promise<void>((resolve) => (arrived = resolve));
    const server = await startRawServer((socket) => socket.once('data', () => arrived()));
    closing.push(() => server.close());
    const { connector } = connectTo(server.url.replace('http:', 'https:'));
    const leaving = new AbortController();
    const { signal } = leaving;
    const run = failureOf(connector.run((exchange) => exchange.getJson(['a']), { signal, kill: signal }));
    await accepted;
    leaving.abort();
    expect(await run).toBeInstanceOf(HttpCancelledError);
    await server.idle();
  });

  it('calls a server without TLS a failure of connecting', async () => {
    const server = await startHttpServer((_request, response) => void response.end('{}'));
    closing.push(() => server.close());
    const { connector } = connectTo(server.url.replace('http:', 'https:'));
    const error = await failureOf(get(connector, 'a'));
    expect(connector.classify(error)).toEqual({ kind: 'infrastructure', connecting: true });
  });
});
