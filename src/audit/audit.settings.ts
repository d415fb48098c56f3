import { MaxLength } from 'class-validator';
import type { ConfigProblem, CrossCheckContext } from '../config/problem.js';
import { Setting, variableOf } from '../config/setting.js';

/** What a key of HMAC-SHA256 must have in production: as many bytes as its digest (RFC 2104 §3). */
const KEY_BYTES = 32;

/** The key of the pseudonyms, and where the audit's records go. */
export class AuditSettings {
  static readonly section = 'AUDIT';
  static readonly title = 'Audit';

  @Setting({
    doc: 'Key of the pseudonyms in the audit; the same on all replicas. Required in production, with at least 32 bytes.',
    variable: 'AUDIT_HMAC_SECRET',
    secret: true,
  })
  @MaxLength(4096)
  hmacSecret?: string;

  @Setting({
    doc: 'The key before the current one: while it is set, each record carries both pseudonyms.',
    variable: 'AUDIT_HMAC_SECRET_PREVIOUS',
    secret: true,
  })
  @MaxLength(4096)
  hmacSecretPrevious?: string;

  @Setting({ doc: 'File that the audit is appended to.', defaultDoc: 'standard output' })
  @MaxLength(4096)
  file?: string;

  crossCheck({ production }: CrossCheckContext): ConfigProblem[] {
    const problems: ConfigProblem[] = [];
    const secret = variableOf(AuditSettings, 'hmacSecret');
    const previous = variableOf(AuditSettings, 'hmacSecretPrevious');
    if (production && this.hmacSecret === undefined) {
      problems.push({
        variable: secret,
        // Text of the reference (spec §1.6).
        problem:
          'es obligatorio cuando MCP_CORP_ENVIRONMENT=production: un HMAC con clave vacía lo puede reproducir cualquiera, así que el proceso no arranca',
      });
    }
    if (production && this.hmacSecret !== undefined && Buffer.byteLength(this.hmacSecret) < KEY_BYTES) {
      problems.push({ variable: secret, problem: `must have at least ${KEY_BYTES} bytes in production` });
    }
    // The previous key may be short: rotating away from a weak key must be possible.
    if (this.hmacSecretPrevious !== undefined && this.hmacSecret === undefined) {
      problems.push({ variable: previous, problem: `needs ${secret}: it is only the key before that one` });
    }
    if (this.hmacSecretPrevious !== undefined && this.hmacSecretPrevious === this.hmacSecret) {
      problems.push({ variable: previous, problem: `must differ from ${secret}; remove it when the rotation is over` });
    }
    return problems;
  }
}
