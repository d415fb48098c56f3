import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** PEM, as Node's TLS wants it. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  readonly name: string;
  /** DNS names and IPv4 addresses that the certificate is for. */
  readonly hosts?: readonly string[];
  /** Who signs; itself when absent. */
  readonly issuer?: Issuer;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

export interface Issuer extends Certificate {
  readonly name: string;
  readonly privateKey: KeyObject;
}

const DAY = 86_400_000;

/**
 * A real X.509 certificate (RFC 5280) with a P-256 key, made on the spot: no key lies in the repository and nothing
 * expires there. Self-signed ones are authorities.
 */
export function makeCertificate(options: CertificateOptions): Issuer {
  const { name, hosts = [], issuer } = options;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const content = sequence(
    explicit(0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(issuer?.name ?? name),
    sequence(
      time(options.notBefore ?? new Date(Date.now() - DAY)),
      time(options.notAfter ?? new Date(Date.now() + DAY)),
    ),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...(issuer ? [] : [AUTHORITY]), ...(hosts.length > 0 ? [alternativeNames(hosts)] : []))),
  );
  const signature = sign('sha256', content, issuer?.privateKey ?? privateKey);
  const certificate = sequence(content, ECDSA_WITH_SHA256, element(0x03, Buffer.concat([Buffer.of(0), signature])));
  const lines = certificate.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    name,
    privateKey,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function element(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), body]);
  const size = length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
  return Buffer.concat([Buffer.of(tag), size, body]);
}

const sequence = (...content: Buffer[]): Buffer => element(0x30, ...content);
const explicit = (tag: number, content: Buffer): Buffer => element(0xa0 + tag, content);
const integer = (bytes: Buffer): Buffer => element(0x02, bytes);
const octets = (content: Buffer): Buffer => element(0x04, content);
const oid = (...bytes: number[]): Buffer => element(0x06, Buffer.from(bytes));

/** 1.2.840.10045.4.3.2 */
const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
/** 2.5.29.19, critical, cA = true */
const AUTHORITY = sequence(
  oid(0x55, 0x1d, 0x13),
  element(0x01, Buffer.of(0xff)),
  octets(sequence(element(0x01, Buffer.of(0xff)))),
);

/** 2.5.4.3 */
const nameOf = (name: string): Buffer =>
  sequence(element(0x31, sequence(oid(0x55, 0x04, 0x03), element(0x0c, Buffer.from(name)))));

const time = (at: Date): Buffer =>
  element(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`));

/** 2.5.29.17 */
function alternativeNames(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIPv4(host) ? element(0x87, Buffer.from(host.split('.').map(Number))) : element(0x82, Buffer.from(host)),
  );
  return sequence(oid(0x55, 0x1d, 0x11), octets(sequence(...names)));
}
