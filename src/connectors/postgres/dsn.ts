/**
 * The DSN of a PostgreSQL source, in libpq's URL form only: `postgresql://user:password@host:5432/database?sslmode=…`.
 * libpq's keyword form (`host=… user=…`) is refused, because `pg` misreads it silently. Whatever libpq would honour and we
 * do not is refused too: a parameter that is ignored is a surprise in production.
 */

/** libpq's names (PostgreSQL manual, 32.19.1). `allow` is treated as `prefer`: TLS wherever the server has it. */
export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

export interface Dsn {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly sslMode: SslMode;
  /** Path of a PEM file with the authorities to trust, or `system` for those that Node trusts. */
  readonly sslRootCert: string | undefined;
  /** Paths of our own certificate and its key (PEM), when the server asks for one. */
  readonly sslCert: string | undefined;
  readonly sslKey: string | undefined;
  /** Command-line options for the server session, such as `-c search_path=…`. PgBouncer refuses them. */
  readonly options: string | undefined;
}

export const URL_FORM = 'postgresql://user:password@host:5432/database?sslmode=verify-full';

/** The message continues a sentence that begins with the variable's name, and holds nothing of the DSN. */
export class DsnError extends Error {
  override readonly name = 'DsnError';
}

const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'options'];
const DEFAULT_PORT = 5432;

/** Throws DsnError. */
export function parseDsn(text: string): Dsn {
  const url = parseUrl(text.trim());
  const parameters = parametersOf(url);
  const host = part('host', url.hostname).replace(/^\[(.+)\]$/, '$1');
  if (host === '') throw new DsnError(`must name a host: ${URL_FORM}`);
  if (!/^[A-Za-z0-9._:%-]+$/.test(host) || host.startsWith('/')) {
    throw new DsnError('must name exactly one host, by name or IP address (no list of hosts, no socket folder)');
  }
  const user = part('user', url.username);
  if (user === '') throw new DsnError(`must name a user: ${URL_FORM}`);
  const [database = '', ...deeper] = url.pathname.slice(1).split('/');
  if (deeper.length > 0) throw new DsnError(`must have one path segment, the database: ${URL_FORM}`);
  return {
    host,
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    user,
    password: part('password', url.password),
    database: part('database', database) || user, // as libpq does
    options: parameters.get('options'),
    ...tlsOf(parameters),
  };
}

/** TLS whose server certificate is checked against an authority; what production asks for. */
export function isVerified({ sslMode, sslRootCert }: Dsn): boolean {
  return sslMode === 'verify-full' || sslMode === 'verify-ca' || (sslMode === 'require' && sslRootCert !== undefined);
}

function parseUrl(text: string): URL {
  if (!/^postgres(ql)?:\/\//i.test(text)) {
    const keywords = /^\s*[a-z_]+\s*=/i.test(text) ? "; libpq's keyword form (host=… user=…) is not supported" : '';
    throw new DsnError(`must have the URL form ${URL_FORM}${keywords}`);
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // `#` and `?` in a password cut the URL short; percent-encoding is what every URL parser asks for.
  if (url === undefined || url.hash !== '') {
    throw new DsnError(`must be a valid URL of the form ${URL_FORM}, with special characters percent-encoded`);
  }
  return url;
}

function part(name: string, encoded: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(encoded);
  } catch {
    throw new DsnError(`has a ${name} that is not percent-encoded properly`);
  }
  // A NUL ends a string of the start-up packet: what follows would be read as another parameter.
  if (decoded.includes('\0')) throw new DsnError(`has a ${name} with a NUL character`);
  return decoded;
}

function parametersOf(url: URL): Map<string, string> {
  const parameters = new Map(url.searchParams);
  const unknown = [...parameters.keys()].some((name) => !PARAMETERS.includes(name));
  // Not named in the text: it may be a piece of a password that was not percent-encoded.
  if (unknown || parameters.size !== [...url.searchParams.keys()].length) {
    throw new DsnError(`may have only these parameters, each once: ${PARAMETERS.join(', ')}`);
  }
  for (const value of parameters.values()) {
    if (value.includes('\0')) throw new DsnError('has a parameter with a NUL character');
  }
  return parameters;
}

function tlsOf(parameters: Map<string, string>): Pick<Dsn, 'sslMode' | 'sslRootCert' | 'sslCert' | 'sslKey'> {
  const sslRootCert = parameters.get('sslrootcert');
  const sslCert = parameters.get('sslcert');
  const sslKey = parameters.get('sslkey');
  const sslMode = parameters.get('sslmode') ?? (sslRootCert === 'system' ? 'verify-full' : 'prefer');
  if (!isSslMode(sslMode)) throw new DsnError(`must have an sslmode out of ${SSL_MODES.join(', ')}`);
  if (sslRootCert === 'system' && sslMode !== 'verify-full') {
    throw new DsnError('must have sslmode=verify-full with sslrootcert=system: anybody can get a public certificate');
  }
  if (sslMode === 'verify-ca' && sslRootCert === undefined) {
    throw new DsnError('must have an sslrootcert with sslmode=verify-ca (or use verify-full)');
  }
  if ((sslCert === undefined) !== (sslKey === undefined)) throw new DsnError('must have sslcert and sslkey together');
  return { sslMode, sslRootCert, sslCert, sslKey };
}

function isSslMode(text: string): text is SslMode {
  return (SSL_MODES as readonly string[]).includes(text);
}
