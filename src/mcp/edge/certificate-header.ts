import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { ForwardedCertificate } from '../call.js';

/**
 * The header in which a proxy says whose certificate it has verified. It counts when the connection itself comes from a listed
 * proxy: one hop, by the peer's address, whatever other headers say. The proxy must replace the header; two of them mean that
 * it has not.
 */
export class CertificateHeader {
  readonly #name: string;
  readonly #proxies = new BlockList();

  /** @param proxies IP addresses, or networks as `10.0.0.0/8`. */
  constructor(name: string, proxies: readonly string[]) {
    this.#name = name.toLowerCase();
    for (const proxy of proxies) {
      const [address = '', prefix] = proxy.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (prefix === undefined) this.#proxies.addAddress(address, family);
      else this.#proxies.addSubnet(address, Number(prefix), family);
    }
  }

  /** Undefined when the request has no such header. */
  of({ headersDistinct, socket }: IncomingMessage): ForwardedCertificate | undefined {
    const [text, another] = headersDistinct[this.#name] ?? [];
    if (text === undefined) return undefined;
    const vouched = another === undefined && this.#isProxy(socket.remoteAddress);
    return vouched ? { kind: 'vouched', text } : { kind: 'forged' };
  }

  #isProxy(address: string | undefined): boolean {
    if (address === undefined) return false;
    // An address of IPv4 on a socket of IPv6 is still the address of IPv4.
    const bare = address.replace(/^::ffff:(?=[\d.]+$)/i, '').replace(/%.*$/, '');
    const family = isIP(bare);
    return family !== 0 && this.#proxies.check(bare, family === 6 ? 'ipv6' : 'ipv4');
  }
}

/** Whether the text is what `CertificateHeader` takes for a proxy. */
export function isAddressOrNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = isIP(address) === 6 ? 128 : 32;
  if (isIP(address) === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}
