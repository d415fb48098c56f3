import { readFileSync } from 'node:fs';

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** Instructions of one `FROM … AS …`, the FROM included. */
export interface Stage {
  readonly name: string | undefined;
  readonly base: string;
  readonly instructions: readonly Instruction[];
}

const CONTINUATION = /\\\n/g;

/** The stages of a Dockerfile, and the instructions before the first of them. Comments are no instructions. */
export function readDockerfile(file: string): {
  readonly globals: readonly Instruction[];
  readonly stages: readonly Stage[];
} {
  const text = readFileSync(file, 'utf8')
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(CONTINUATION, ' ');
  const instructions = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line): Instruction => {
      const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? [];
      return { name: name.toUpperCase(), text: rest.replaceAll(/\s+/g, ' ') };
    });
  const first = instructions.findIndex(({ name }) => name === 'FROM');
  const stages: { name: string | undefined; base: string; instructions: Instruction[] }[] = [];
  for (const instruction of instructions.slice(first)) {
    if (instruction.name === 'FROM') {
      const [, base = '', name] = /^(\S+)(?: AS (\S+))?$/i.exec(instruction.text) ?? [];
      stages.push({ name, base, instructions: [] });
    }
    stages.at(-1)?.instructions.push(instruction);
  }
  return { globals: instructions.slice(0, first), stages };
}

/** Texts of all instructions of a name. */
export const all = (instructions: readonly Instruction[], name: string): string[] =>
  instructions.filter((instruction) => instruction.name === name).map(({ text }) => text);

/** Text of the last instruction of a name: the one that counts. Empty: there is none. */
export const last = (instructions: readonly Instruction[], name: string): string =>
  all(instructions, name).at(-1) ?? '';
