import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ENTRIES = [
  'src',
  'test',
  'scripts',
  'deploy',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  '.dependency-cruiser.cjs',
];

/** The project in a temporary folder, to be changed and built as a reader of the documents would. */
export class ProjectCopy implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'mcp-corp-copy-'));
  /** Script of the built server. */
  readonly main = join(this.folder, 'dist/main.js');

  constructor() {
    const filter = (path: string) => basename(path) !== 'node_modules';
    for (const entry of ENTRIES) cpSync(join(ROOT, entry), join(this.folder, entry), { recursive: true, filter });
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'));
  }

  /** Compiles `src` to `dist` with every check of types. Rejects with what the compiler says. */
  async build(): Promise<void> {
    rmSync(join(this.folder, 'dist'), { recursive: true, force: true });
    await this.node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
  }

  /** Runs a script of the copy; resolves to its output, rejects when it fails. */
  async node(...command: string[]): Promise<string> {
    return this.#run(process.execPath, command);
  }

  /** Runs lines of shell in the copy's folder. */
  async shell(script: string): Promise<string> {
    return this.#run('/bin/sh', ['-euc', script]);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #run(program: string, args: readonly string[]): Promise<string> {
    const run = promisify(execFile)(program, args, { cwd: this.folder, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
    const { stdout } = await run.catch((error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${args.join(' ')} failed:\n${error.stdout ?? ''}${error.stderr ?? ''}`);
    });
    return stdout;
  }
}
