// @ts-check
/** What the assets name, and what there is to name: shared by the unit tests and by `npm run verify:manifests`. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './build-image.mjs';

/** Stands where an operator must write something; everything that holds it is refused by the cluster or by the server. */
export const PLACEHOLDER = 'REPLACE_ME';

/** What the server still does after drain and grace: last answers, sources, the last records of the audit. Seconds. */
export const LAST_THINGS_SECONDS = 5;

/** Names of all settings, from the generated reference. @returns {Set<string>} */
export function settingNames() {
  const text = readFileSync(path.join(ROOT, 'docs/configuration.md'), 'utf8');
  return new Set([...text.matchAll(/^\| `(MCP_CORP_\w+)`/gm)].map(([, name]) => name ?? ''));
}

/** Names of ours in a text that no setting has, `_FILE` or not. @param {string} text @param {ReadonlySet<string>} known */
export function unknownNames(text, known) {
  const names = new Set([...text.matchAll(/\bMCP_CORP_[A-Z0-9_]*[A-Z0-9]/g)].map(([name]) => name));
  return [...names].filter((name) => !known.has(name) && !known.has(name.replace(/_FILE$/, '')));
}

/** Every file below a folder of the repository, or the file itself; paths from the root. @param {string} place @returns {string[]} */
export function filesIn(place) {
  const whole = path.join(ROOT, place);
  if (!statSync(whole).isDirectory()) return [place];
  return readdirSync(whole).flatMap((name) => filesIn(path.join(place, name)));
}

/** Everything that is deployed, or says how. */
export const assetFiles = () => ['Dockerfile', '.dockerignore', 'docker-compose.dev.yml', 'deploy'].flatMap(filesIn);
