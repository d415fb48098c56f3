import { readFileSync } from 'node:fs';

/** The version of package.json, read once; it stands beside `src` and beside `dist` alike. */
export const VERSION = readVersion(new URL('../../package.json', import.meta.url));

function readVersion(file: URL): string {
  const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  throw new Error('package.json has no version');
}
