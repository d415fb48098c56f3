import { environmentSecrets } from '../../config/environment-secrets.js';
import type { EventLog } from '../../logging/event-log.js';
import type { GovernanceSettings } from '../governance.settings.js';
import { boundedSender, type Send } from '../outbound/bounded-request.js';
import type { Now } from '../ports.js';
import { envSecret } from './env-secret.js';
import { fileSecret } from './file-secret.js';
import { oauthSecret } from './oauth-secret.js';
import { remembered } from './remembered.js';
import { Secrets, type SecretScheme } from './secret-text.js';
import { vaultSecret } from './vault-secret.js';

/** Milliseconds that the keys of issuers in a Vault are remembered. */
const KEYS_MS = 5_000;

export interface SchemeParts {
  readonly settings: Pick<GovernanceSettings, 'vaultAddress' | 'vaultToken'>;
  readonly now: Now;
  readonly log: EventLog;
  readonly environment?: (name: string) => string | undefined;
  readonly send?: Send;
}

/** Whom an account's credential may come from. Two Secrets, so that the two identities share no state. */
export function accountSecrets(parts: SchemeParts): Secrets {
  const { kept, vault, send } = storesOf(parts);
  const own = new Secrets({ ...kept, vault });
  const oauth = (scheme: 'https' | 'http'): SecretScheme =>
    oauthSecret(scheme, {
      ...{ send, now: parts.now, log: parts.log },
      secret: (reference, signal) => own.read(reference, signal),
    });
  return new Secrets({ ...kept, vault, 'oauth+https': oauth('https'), 'oauth+http': oauth('http') });
}

/** Where the key of an issuer may be. */
export function issuerSecrets(parts: SchemeParts): Secrets {
  const { kept, vault } = storesOf(parts);
  return new Secrets({ ...kept, vault: remembered(vault, parts.now, KEYS_MS) });
}

function storesOf({ settings, log, environment = environmentSecrets(), send = boundedSender() }: SchemeParts) {
  const kept = { env: envSecret(environment), file: fileSecret() };
  const local = new Secrets(kept);
  const vault = vaultSecret({
    ...{ send, log },
    address: () => settings.vaultAddress ?? environment('VAULT_ADDR'),
    token: (signal) => local.read(settings.vaultToken, signal),
  });
  return { kept, vault, send };
}
