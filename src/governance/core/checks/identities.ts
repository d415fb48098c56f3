import { error, warning, type Diagnostic } from '../diagnostic.js';
import type { IssuerDocument } from '../document.js';
import { ANCHORS, pointer } from '../pointer.js';
import type { Check } from './findings.js';
import { isPlaintextUrl } from './url.js';

/** What an issuer needs before anybody can be recognised. An `aud` is needed too: else any token of the provider passes (W-8). */
const NEEDS: Readonly<Record<IssuerDocument['kind'], readonly (keyof IssuerDocument)[]>> = {
  'static-key': ['subject', 'secret'],
  oidc: ['discovery', 'audience'],
  mtls: [],
};

/** Where an attribute of the kind comes from. The attributes of a static key are values. */
const SOURCES: Readonly<
  Record<
    IssuerDocument['kind'],
    { readonly prefix: string; readonly code: 'claim_mapping_expected' | 'dn_mapping_expected' } | undefined
  >
> = {
  'static-key': undefined,
  oidc: { prefix: 'claim:', code: 'claim_mapping_expected' },
  mtls: { prefix: 'dn:', code: 'dn_mapping_expected' },
};

export const checkIssuers: Check = ({ document, options }) => {
  const findings: Diagnostic[] = [];
  const keys = new Map<string, string>();
  for (const [index, issuer] of document.principals.issuers.entries()) {
    const path = pointer('principals', 'issuers', index);
    const source = SOURCES[issuer.kind];
    if (source !== undefined)
      for (const [name, from] of Object.entries(issuer.attributes ?? {}))
        if (!from.startsWith(source.prefix) || from.length === source.prefix.length)
          findings.push(
            error(
              source.code,
              path + pointer('attributes', name),
              `an attribute of an ${issuer.kind} issuer is written '${source.prefix}<name>'`,
            ),
          );
    const missing = NEEDS[issuer.kind].filter(
      (field) => issuer[field] === undefined || (field === 'subject' && issuer.subject?.trim() === ''),
    );
    if (missing.length > 0) {
      const report = options.purpose === 'serve' ? error : warning;
      findings.push(
        report(
          'issuer_incomplete',
          path,
          `nobody can be recognised by '${issuer.id}' without ${missing.join(' and ')}`,
        ),
      );
    }
    if (issuer.discovery !== undefined && isPlaintextUrl(issuer.discovery))
      findings.push(error('insecure_url', `${path}/discovery`, 'only https, or http to a loopback address'));
    if (issuer.kind === 'static-key' && issuer.secret !== undefined) {
      const earlier = keys.get(issuer.secret.ref);
      if (earlier === undefined) keys.set(issuer.secret.ref, path);
      else
        findings.push(
          warning(
            'shared_issuer_secret',
            `${path}/secret/ref`,
            'two issuers keep their key in one place; one key cannot be two principals',
            {
              path: earlier,
              note: 'the other issuer',
            },
          ),
        );
    }
  }
  return findings;
};

/** `oauth+https://…`: a token is asked for there (spec §3.5). */
const OAUTH = 'oauth+';

export const checkAccounts: Check = ({ document, options }) => {
  const used = new Set(document.grants.map(({ using }) => using));
  const unused = document.accounts.flatMap(({ id }, index) =>
    used.has(id) ? [] : [warning('unused_account', pointer('accounts', index), `no grant uses the account '${id}'`)],
  );
  const schemes = new Set(options.secretSchemes ?? ['env', 'file']);
  const references = [
    ...document.accounts.map(({ secret }, index) => ({
      ref: secret.ref,
      path: `${ANCHORS.accounts}/${index}/secret/ref`,
    })),
    ...document.principals.issuers.flatMap(({ secret }, index) =>
      secret === undefined ? [] : [{ ref: secret.ref, path: `${ANCHORS.issuers}/${index}/secret/ref` }],
    ),
  ];
  // A token endpoint is told a client's secret: never in the clear (spec 0038).
  const insecure = references.flatMap(({ ref, path }) =>
    ref.startsWith(OAUTH) && isPlaintextUrl(ref.slice(OAUTH.length))
      ? [error('insecure_url', path, 'only https, or http to a loopback address')]
      : [],
  );
  // Only the scheme is named: the rest of a reference is nobody's business.
  const unknown = references.flatMap(({ ref, path }) => {
    const scheme = ref.slice(0, ref.indexOf(':'));
    // What a token endpoint gives changes, so it is nobody's key.
    const readable = schemes.has(scheme) && !(path.startsWith(ANCHORS.issuers) && scheme.startsWith(OAUTH));
    return readable ? [] : [warning('unknown_secret_scheme', path, `nothing here can read a '${scheme}' reference`)];
  });
  return [...unused, ...insecure, ...unknown];
};
