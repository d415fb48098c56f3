#!/usr/bin/env node
// @ts-check
// What `npx mcp-corp` runs. Not dist/cli/main.js itself: every build deletes dist and with it the executable bit that npx
// has set there once, and the next `npx mcp-corp` would end with "Permission denied".
import { existsSync } from 'node:fs';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write('mcp-corp is not built: npm run build\n');
  process.exitCode = 3;
}
