import { describe, expect, it } from '@jest/globals';
import { CertificateHeader, isAddressOrNetwork } from '../../../../src/mcp/edge/certificate-header.js';

type Req = Parameters<CertificateHeader['of']>[0];
const req = (remoteAddress: string | undefined, values: string[] | undefined): Req =>
  ({
    headersDistinct: values === undefined ? {} : { 'x-client': values },
    socket: { remoteAddress },
  }) as unknown as Req;

describe('the header of a proxy about a client certificate', () => {
  const header = new CertificateHeader('X-Client', ['127.0.0.1', '10.1.0.0/16', 'fd00::/64']);

  it.each(['127.0.0.1', '::ffff:127.0.0.1', '10.1.255.1', '::ffff:10.1.0.1', 'fd00::7'])(
    'is believed from %s',
    (peer) => {
      expect(header.of(req(peer, ['CN=a']))).toEqual({ kind: 'vouched', text: 'CN=a' });
    },
  );

  it.each(['127.0.0.2', '10.2.0.1', '::1', 'fd00:0:0:1::7', '::ffff:10.2.0.1', undefined, 'nada'])(
    'is a forgery from %s',
    (peer) => {
      expect(header.of(req(peer, ['CN=a']))).toEqual({ kind: 'forged' });
    },
  );

  it('is a forgery when it comes twice, and nothing when it does not come', () => {
    expect(header.of(req('127.0.0.1', ['CN=a', 'CN=b']))).toEqual({ kind: 'forged' });
    expect(header.of(req('127.0.0.1', undefined))).toBeUndefined();
  });

  it('is of proxies that are addresses or networks', () => {
    for (const good of ['10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/64', '0.0.0.0/0'])
      expect(isAddressOrNetwork(good)).toBe(true);
    for (const bad of ['proxy.example.com', '10.0.0.1/33', 'fd00::/129', '10.0.0.1/', '10.0.0.1/8/8', '10.0.0', ''])
      expect(isAddressOrNetwork(bad)).toBe(false);
  });
});
