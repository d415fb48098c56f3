import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A fenced code block of a document: its language, and the file that it is or changes, if it names one. */
export interface Block {
  readonly language: string;
  readonly path: string | undefined;
  readonly text: string;
}

const FENCE = /^```(\w+)(?: (\S+))?\n([^]*?)^```$/gm;

/** The blocks of `docs/<name>`, or of its section whose heading begins with `heading`. */
export function blocksOf(name: string, heading?: string): Block[] {
  const text = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  const section =
    heading === undefined ? text : text.split(/^(?=## )/m).find((part) => part.startsWith(`## ${heading}`));
  if (section === undefined) throw new Error(`${name} has no section '${heading}'`);
  return [...section.matchAll(FENCE)].map(([, language = '', path, body = '']) => ({ language, path, text: body }));
}

/** Does with the files under `root` what the blocks say: writes those that are files, makes the changes of the diffs. */
export function apply(blocks: readonly Block[], root: string): void {
  for (const { language, path, text } of blocks) {
    if (path === undefined) continue;
    const file = join(root, path);
    if (language === 'diff') writeFileSync(file, changed(readFileSync(file, 'utf8'), text, path));
    else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { flag: 'wx' });
    }
  }
}

/** Hunks are separated by lines of `@@`; what a hunk takes away, with the lines around it, must be there exactly once. */
function changed(source: string, diff: string, path: string): string {
  return diff.split(/^@@\n/m).reduce((before, hunk) => {
    const lines = hunk.split('\n').filter((line) => line !== '');
    const side = (mark: string) =>
      lines.filter((line) => line.startsWith(' ') || line.startsWith(mark)).map((line) => `${line.slice(1)}\n`);
    const [old, fresh] = [side('-').join(''), side('+').join('')];
    if (before.split(old).length !== 2) throw new Error(`${path} does not hold this once:\n${old}`);
    return before.replace(old, () => fresh);
  }, source);
}
