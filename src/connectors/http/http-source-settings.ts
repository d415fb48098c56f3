import { Matches, Max, MaxLength, Min } from 'class-validator';
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { type ConfigProblem, type CrossCheckContext } from '../../config/problem.js';
import { type RotatingSecret, rotatingSecret, type SecretChange } from '../../config/rotating-secret.js';
import { Setting } from '../../config/setting.js';
import { ToBoolean, ToInteger, ToNumber } from '../../config/transforms.js';
import { isLoopback } from '../loopback.js';
import { SourceSettings } from '../source-settings.js';
import { type ClientTls } from './keep-alive-agent.js';

/** What may stand in a header line: nothing that could end it (RFC 9110 §5.1, §5.5). */
const HEADER_NAME = /^[A-Za-z0-9-]{1,64}$/;
const HEADER_VALUE = /^[\x21-\x7e]{1,4096}$/;
const headerValue = { message: 'must be 1 to 4096 visible ASCII characters without spaces' };

/** The headers with the credentials of now. */
export type RotatingHeaders = RotatingSecret<Readonly<Record<string, string>>>;

/** Bytes of PEM; a bundle of authorities is the longest. */
const PEM_LENGTH = 262_144;

/** What every source that is an HTTP API can be told (spec §1.3; architecture §3, §5). */
export abstract class HttpSourceSettings extends SourceSettings {
  @Setting({
    doc: 'Scheme, host, port and optional path prefix of the service.',
    defaultDoc: 'none; needed when the source is enabled',
    example: 'http://localhost:8080',
  })
  @MaxLength(2048)
  baseUrl?: string;

  @Setting({
    doc: 'Longest time of one request; it acts only when it is shorter than the operation timeout.',
    unit: 'seconds',
  })
  @ToNumber()
  @Min(0.001)
  @Max(600)
  requestTimeoutSeconds = 5;

  @Setting({ doc: 'Largest body of an answer; a larger one is treated as a failure of the source.', unit: 'bytes' })
  @ToInteger()
  @Min(1024)
  @Max(67_108_864)
  maxResponseBytes = 1_048_576;

  @Setting({ doc: 'The waiver that lets production talk to a base URL without TLS that is not on this machine.' })
  @ToBoolean()
  allowPlaintext = false;

  @Setting({ doc: 'Token sent as `Authorization: Bearer …`.', secret: true, defaultDoc: 'none' })
  @Matches(HEADER_VALUE, headerValue)
  bearerToken?: string;

  @Setting({ doc: 'Key sent in a header of its own, instead of a bearer token.', secret: true, defaultDoc: 'none' })
  @Matches(HEADER_VALUE, headerValue)
  apiKey?: string;

  @Setting({ doc: 'Header in which the API key is sent.' })
  @Matches(HEADER_NAME, { message: 'must be a header name: letters, digits and dashes' })
  apiKeyHeader = 'X-API-Key';

  @Setting({
    doc: 'Authorities (PEM) that may sign the certificate of the service; usually given as a file.',
    defaultDoc: 'those that Node trusts',
  })
  @MaxLength(PEM_LENGTH)
  tlsCa?: string;

  @Setting({
    doc: 'Certificate (PEM) with which we present ourselves (mTLS); usually given as a file.',
    defaultDoc: 'none',
  })
  @MaxLength(PEM_LENGTH)
  tlsCert?: string;

  @Setting({ doc: 'Private key (PEM) of that certificate.', secret: true, defaultDoc: 'none' })
  @MaxLength(PEM_LENGTH)
  tlsKey?: string;

  override crossCheck(context: CrossCheckContext): ConfigProblem[] {
    return [...super.crossCheck(context), ...this.#problemsOfUrl(context), ...this.#problemsOfAccess()];
  }

  /** Headers that carry the source's own credentials. */
  credentials(): Readonly<Record<string, string>> {
    if (this.bearerToken !== undefined) return { Authorization: `Bearer ${this.bearerToken}` };
    return this.apiKey === undefined ? {} : { [this.apiKeyHeader]: this.apiKey };
  }

  /** The same headers as they are now, when the credential came from a file (`_FILE`); undefined when it cannot change. */
  rotatingCredentials(told: (change: SecretChange, variable: string) => void): RotatingHeaders | undefined {
    const property = this.bearerToken !== undefined ? 'bearerToken' : 'apiKey';
    const accept = (text: string): Readonly<Record<string, string>> => {
      if (!HEADER_VALUE.test(text)) throw new TypeError('no header can carry it');
      return this.credentialsOf(text);
    };
    return rotatingSecret<HttpSourceSettings, Readonly<Record<string, string>>>(this, property, {
      initial: this.credentials(),
      accept,
      told,
    });
  }

  /** Headers that carry the credential of an account instead, in the way in which the source takes its own. */
  credentialsOf(secret: string): Readonly<Record<string, string>> {
    return this.apiKey === undefined ? { Authorization: `Bearer ${secret}` } : { [this.apiKeyHeader]: secret };
  }

  tls(): ClientTls {
    return { ca: this.tlsCa, cert: this.tlsCert, key: this.tlsKey };
  }

  /** `undefined`: the operation timeout is enough. Two equal timeouts would race for the error (spec §11: B18). */
  requestTimeoutMs(): number | undefined {
    return this.requestTimeoutSeconds < this.operationTimeoutSeconds ? 1000 * this.requestTimeoutSeconds : undefined;
  }

  #problemsOfUrl({ production }: CrossCheckContext): ConfigProblem[] {
    const variable = this.variable('baseUrl');
    if (this.baseUrl === undefined) {
      if (!this.enabled) return [];
      return [{ variable, problem: `must be set, because ${this.variable('enabled')} is true` }];
    }
    const url = URL.parse(this.baseUrl);
    if (!url || !['http:', 'https:'].includes(url.protocol)) {
      return [{ variable, problem: 'must be a URL that begins with http:// or https://' }];
    }
    const problems: ConfigProblem[] = [];
    if (url.username !== '' || url.password !== '') {
      const remedy = `${this.variable('bearerToken')} or ${this.variable('apiKey')}`;
      problems.push({ variable, problem: `must not contain credentials; use ${remedy}` });
    }
    if (/[?#]/.test(this.baseUrl)) problems.push({ variable, problem: 'must end before the query and the fragment' });
    if (production && this.enabled && url.protocol === 'http:' && !isLoopback(url.hostname) && !this.allowPlaintext) {
      const waiver = `${this.variable('allowPlaintext')}=true`;
      problems.push({ variable, problem: `must use https in production, unless the waiver ${waiver} is written down` });
    }
    return problems;
  }

  #problemsOfAccess(): ConfigProblem[] {
    const problems: ConfigProblem[] = [];
    if (this.bearerToken !== undefined && this.apiKey !== undefined) {
      const other = this.variable('bearerToken');
      problems.push({ variable: this.variable('apiKey'), problem: `must not be set together with ${other}` });
    }
    if ((this.tlsCert === undefined) !== (this.tlsKey === undefined)) {
      const [missing, given] =
        this.tlsCert === undefined ? (['tlsCert', 'tlsKey'] as const) : (['tlsKey', 'tlsCert'] as const);
      problems.push({ variable: this.variable(missing), problem: `must be set together with ${this.variable(given)}` });
    } else if (!loads(() => createSecureContext({ cert: this.tlsCert, key: this.tlsKey }))) {
      const key = this.variable('tlsKey');
      problems.push({
        variable: this.variable('tlsCert'),
        problem: `must be a PEM certificate, and ${key} its PEM key`,
      });
    }
    const { tlsCa } = this;
    if (tlsCa !== undefined && !loads(() => new X509Certificate(tlsCa))) {
      problems.push({ variable: this.variable('tlsCa'), problem: 'must be one or more PEM certificates' });
    }
    return problems;
  }
}

/** OpenSSL says why in a text that may quote the file; that it cannot be used is all that is told. */
function loads(use: () => unknown): boolean {
  try {
    use();
    return true;
  } catch {
    return false;
  }
}
