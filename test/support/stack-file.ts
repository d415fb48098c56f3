import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface SecretMount {
  readonly source: string;
  readonly target: string;
  readonly uid: string;
  readonly gid: string;
  readonly mode: number;
}

export interface ConfigMount {
  readonly source: string;
  readonly target: string;
  readonly gid?: string;
  readonly mode?: number;
}

export interface StackService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly user?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly SecretMount[];
  readonly configs?: readonly ConfigMount[];
  readonly networks?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
  readonly deploy?: {
    readonly replicas: number;
    readonly endpoint_mode?: string;
    readonly restart_policy: Readonly<Record<string, unknown>>;
    readonly update_config?: Readonly<Record<string, unknown>>;
    readonly rollback_config?: Readonly<Record<string, unknown>>;
    readonly resources: Readonly<Record<'limits' | 'reservations', { readonly cpus: string; readonly memory: string }>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

export interface StackFile {
  readonly services: Readonly<Record<string, StackService>>;
  readonly secrets?: Readonly<Record<string, { readonly external?: boolean; readonly name?: string }>>;
  readonly configs?: Readonly<
    Record<string, { readonly file?: string; readonly external?: boolean; readonly name?: string }>
  >;
  readonly networks?: Readonly<Record<string, { readonly external?: boolean }>>;
  readonly volumes?: Readonly<Record<string, null>>;
}

export class UnsetPlaceholderError extends Error {}

/** A Compose file with the variables of a shell, as docker puts them in: `${A}`, `${A:-default}`, `${A:?why}`. */
export function readStack(file: string, shell: Readonly<Record<string, string>> = {}): StackFile {
  const text = readFileSync(file, 'utf8').replaceAll(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_whole, name: string, kind: string | undefined, rest: string) => {
      const value = shell[name] ?? '';
      if (value !== '') return value;
      if (kind === '?') throw new UnsetPlaceholderError(`${name}: ${rest}`);
      return kind === '-' ? rest : '';
    },
  );
  // Docker reads YAML 1.1: `0440` is octal.
  return parse(text, { version: '1.1' }) as StackFile;
}

/** Names that must be set. */
export function placeholdersOf(file: string): string[] {
  return [...new Set([...readFileSync(file, 'utf8').matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name ?? ''))];
}

/** `30s`, `1m30s`. */
export function seconds(text: unknown): number {
  const [, minutes = '0', rest = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(String(text)) ?? [];
  return Number(minutes) * 60 + Number(rest);
}
