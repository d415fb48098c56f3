import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Max, MaxLength, Min } from 'class-validator';
import { type ConfigProblem, type CrossCheckContext } from '../../config/problem.js';
import { rotatingSecret, type SecretChange } from '../../config/rotating-secret.js';
import { Setting } from '../../config/setting.js';
import { ToBoolean, ToInteger, ToNumber } from '../../config/transforms.js';
import { isLoopback } from '../../connectors/loopback.js';
import { type Dsn, DsnError, isVerified, parseDsn } from '../../connectors/postgres/dsn.js';
import { type TlsPolicy, tlsPolicy } from '../../connectors/postgres/tls-policy.js';
import { SourceSettings } from '../../connectors/source-settings.js';

/** The customer database (spec §1.2, architecture §3). */
export class PostgresSettings extends SourceSettings {
  static readonly section = 'POSTGRES';
  static readonly title = 'Source postgres (customer database)';

  @Setting({
    doc: 'URL of the database; the parameters sslmode, sslrootcert, sslcert, sslkey and options mean what libpq says.',
    secret: true,
    example: 'postgresql://mcp_corp:mcp_corp@localhost:5432/mcp_corp',
  })
  @MaxLength(4096)
  dsn?: string;

  @Setting({ doc: 'Connections kept open, per replica.', unit: 'connections' })
  @ToInteger()
  @Min(0)
  @Max(1000)
  minPoolSize = 1;

  @Setting({ doc: 'Most connections ever open, per replica; at least the maximum concurrency.', unit: 'connections' })
  @ToInteger()
  @Min(1)
  @Max(1000)
  maxPoolSize = 10;

  @Setting({ doc: 'Longest time to open the connections that are kept open, at start-up.', unit: 'seconds' })
  @ToNumber()
  @Min(0.001)
  @Max(600)
  poolOpenTimeoutSeconds = 10;

  @Setting({
    doc: 'Writes the correlation id, and the trace where calls are traced, into a comment of each statement.',
  })
  @ToBoolean()
  sqlComment = false;

  @Setting({ doc: 'Accepts, in production, a database that is not on this machine without verified TLS.' })
  @ToBoolean()
  allowPlaintext = false;

  override crossCheck(context: CrossCheckContext): ConfigProblem[] {
    const problems = super.crossCheck(context);
    if (this.minPoolSize > this.maxPoolSize) {
      const problem = `must not be more than ${this.variable('maxPoolSize')}`;
      problems.push({ variable: this.variable('minPoolSize'), problem });
    }
    if (this.maxPoolSize < this.maxConcurrency) {
      // Else calls that hold a slot would wait for a connection, and the health check with them (defect B12).
      const problem = `must be at least ${this.variable('maxConcurrency')}`;
      problems.push({ variable: this.variable('maxPoolSize'), problem });
    }
    const problem = this.#problemOfDsn(context.production);
    if (problem !== undefined) problems.push({ variable: this.variable('dsn'), problem });
    return problems;
  }

  /** What the connector is made with. Throws DsnError, which `crossCheck` has ruled out. */
  target(read: (path: string) => string = (path) => readFileSync(path, 'utf8')): {
    dsn: Dsn;
    tls: TlsPolicy | undefined;
  } {
    const dsn = parseDsn(this.dsn ?? '');
    return { dsn, tls: tlsPolicy(dsn, read) };
  }

  /**
   * The password of now, when the DSN came from a file (`DSN_FILE`); undefined when it cannot change. Only the password is
   * taken over: a DSN that speaks of another user, host or database needs a restart, and until then the last password
   * goes on.
   */
  password(told: (change: SecretChange, variable: string) => void): (() => Promise<string>) | undefined {
    const { password: initial, ...start } = parseDsn(this.dsn ?? '');
    const accept = (text: string): string => {
      const { password, ...rest } = parseDsn(text);
      if (!isDeepStrictEqual(rest, start)) throw new DsnError('speaks of more than another password');
      return password;
    };
    const secret = rotatingSecret<PostgresSettings, string>(this, 'dsn', { initial, accept, told });
    return secret && (() => secret.read());
  }

  #problemOfDsn(production: boolean): string | undefined {
    if (!this.enabled) return undefined;
    if (this.dsn === undefined) return `is required when ${this.variable('enabled')} is true`;
    let dsn: Dsn;
    try {
      ({ dsn } = this.target());
    } catch (error) {
      if (error instanceof DsnError) return error.message;
      throw error;
    }
    if (!production || isVerified(dsn) || isLoopback(dsn.host) || this.allowPlaintext) return undefined;
    const waiver = this.variable('allowPlaintext');
    return `must ask for verified TLS in production (sslmode=verify-full), or set ${waiver}=true`;
  }
}
