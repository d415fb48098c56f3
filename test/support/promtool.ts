import { spawnSync } from 'node:child_process';

/** Why tests with Prometheus' own checker are skipped; undefined where they are not. Debian's `prometheus`, which `.ci/run` installs. */
export const NO_PROMTOOL = spawnSync('promtool', ['--version']).status === 0 ? undefined : 'promtool is not installed';

/** Exit code and everything said; `input` on standard input. */
export function promtool(args: readonly string[], input = ''): { readonly code: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', input });
  return { code: status, said: stdout + stderr };
}
