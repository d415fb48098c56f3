import type { EventLog, Fields } from '../logging/event-log.js';
import type { LoadedPolicy, LocatedDiagnostic, LocatedPlace } from './policy-file/load-policy.js';

/**
 * Every finding about the policy as a line of the log, and what a policy declares that this version does not serve: nobody
 * is recognised by such an issuer.
 */
export function logDiagnostics(
  log: EventLog,
  { diagnostics, policy, version, locate }: LoadedPolicy,
  /** A header for certificates is configured. */
  mtls = false,
): void {
  for (const diagnostic of diagnostics) {
    const fields = { ...fieldsOf(diagnostic), policy_version: version };
    if (diagnostic.severity === 'error') log.error('policy_diagnostic', fields);
    else log.warning('policy_diagnostic', fields);
  }
  if (policy === undefined) return;
  const place = (pointer: string): Fields => ({ pointer, ...linesOf({ position: locate(pointer) }) });
  const certificates = [...policy.issuers.values()].filter(({ kind }) => kind === 'mtls');
  // One header names one subject and not who vouches for it: two issuers of this kind could not be told apart.
  if (!mtls || certificates.length > 1)
    for (const { id, kind, path } of certificates)
      log.warning('issuer_not_served', { issuer: id, kind, ...place(path) });
  log.info('policy_loaded', {
    policy_version: version,
    capabilities: policy.capabilities.length,
    issuers: policy.issuers.size,
    accounts: policy.accounts.size,
    grants: policy.grants.length,
  });
}

const fieldsOf = ({ severity, code, message, path, related, ...where }: LocatedDiagnostic): Fields => ({
  severity,
  code,
  detail: message,
  pointer: path,
  ...linesOf(where),
  related: related.map(({ path: pointer, note, ...place }: LocatedPlace) => ({ pointer, note, ...linesOf(place) })),
});

const linesOf = ({ position }: Pick<LocatedDiagnostic, 'position'>): Fields =>
  position === undefined ? {} : { line: position.line, column: position.column };
