import { X509Certificate } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type ConnectionOptions, type SecureContext, type TLSSocket } from 'node:tls';
import { type Dsn, DsnError } from './dsn.js';

/**
 * What `sslmode` asks of a connection, as libpq means it (PostgreSQL manual, 32.19.1):
 *
 * | sslmode       | plain text             | certificate                                |
 * |---------------|------------------------|--------------------------------------------|
 * | disable       | always                 | -                                          |
 * | allow, prefer | if the server has none | not checked; with sslrootcert as verify-ca |
 * | require       | never                  | not checked; with sslrootcert as verify-ca |
 * | verify-ca     | never                  | signed by an authority of sslrootcert      |
 * | verify-full   | never                  | and its name is the host's                 |
 *
 * Two differences, both on the safe side: a handshake that fails is never tried again in plain text, and verify-full
 * without an sslrootcert trusts the authorities that Node trusts (libpq would look for a file in the home directory).
 */
export interface TlsPolicy {
  /** Whether a server that offers no TLS is refused. */
  readonly required: boolean;
  /** Begins the handshake over a connected socket. */
  secure(socket: Socket): TLSSocket;
}

/** `undefined`: plain text. `read` gives the text of a file. Throws DsnError, which shows no path. */
export function tlsPolicy(dsn: Dsn, read: (path: string) => string): TlsPolicy | undefined {
  const { sslMode, sslRootCert, host } = dsn;
  if (sslMode === 'disable') return undefined;
  const checked = sslMode === 'verify-ca' || sslMode === 'verify-full' || sslRootCert !== undefined;
  const options: ConnectionOptions = {
    host,
    // A server name must not be an address (RFC 6066 §3); the check of the certificate then goes by `host`.
    servername: isIP(host) === 0 ? host : '',
    secureContext: secureContext(dsn, read),
    rejectUnauthorized: checked,
    ...(sslMode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
  return {
    required: sslMode !== 'allow' && sslMode !== 'prefer',
    secure: (socket) => connect({ ...options, socket }),
  };
}

function secureContext({ sslRootCert, sslCert, sslKey }: Dsn, read: (path: string) => string): SecureContext {
  const pem = (parameter: string, path: string | undefined): string | undefined => {
    try {
      return path === undefined || path === 'system' ? undefined : read(path);
    } catch {
      throw new DsnError(`has an ${parameter} that cannot be read`);
    }
  };
  const files = { ca: pem('sslrootcert', sslRootCert), cert: pem('sslcert', sslCert), key: pem('sslkey', sslKey) };
  try {
    // Node takes a file of authorities without any, and would then trust nobody.
    if (files.ca !== undefined) new X509Certificate(files.ca);
    return createSecureContext(files);
  } catch {
    throw new DsnError('has a certificate or key that is not valid PEM');
  }
}
