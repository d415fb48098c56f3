import { nearest } from './nearest.js';
import type { ConfigProblem } from './problem.js';
import type { SectionClass } from './section.js';
import { PREFIX, settingsOf } from './setting.js';
import { FILE_SUFFIX } from './variables.js';

/**
 * A name of ours that no setting claims is a start-up error: else a misspelt limit or a misspelt secret is silence (E4).
 * The text shows the name and at most another *known* name, never a value.
 */

/** The reference's tests read these; a developer's shell may have them. Nothing reads them in production. */
const TEST_PREFIX = `${PREFIX}TEST_`;

/** What Kubernetes puts into every pod for a Service named `mcp-corp` or `mcp-corp-…` (docker's links do too). */
const SERVICE_LINK =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;
const SERVICE_LINK_PORT = /_PORT$/;
const SERVICE_LINK_VALUE = /^(?:tcp|udp|sctp):\/\//i;

const SERVICE_LINK_PROBLEM =
  'comes from a Kubernetes service link, not from you: set `enableServiceLinks: false` in the pod spec';

/** Longest name that is shown whole. */
const MAX_SHOWN = 120;

export interface NameCheck {
  readonly names: readonly string[];
  readonly sections: readonly SectionClass[];
  readonly production: boolean;
  raw(name: string): string;
}

/** `MCP_CORP_PORT=tcp://…`: a setting of ours whose value another hand has written. */
export function isServiceLinkValue(name: string, value: string): boolean {
  return SERVICE_LINK_PORT.test(name) && SERVICE_LINK_VALUE.test(value);
}

export function problemsOfNames({ names, sections, production, raw }: NameCheck): ConfigProblem[] {
  const claimed = new Set(sections.flatMap((section) => settingsOf(section).map(({ variable }) => variable)));
  const parents = new Set(sections.map(({ section }) => PREFIX + section).filter((name) => name !== PREFIX));
  return names
    .filter((name) => name.toUpperCase().startsWith(PREFIX))
    .map((name): ConfigProblem | undefined => {
      const known = isKnown(name, claimed);
      if (isServiceLinkValue(name, raw(name)) || (!known && SERVICE_LINK.test(name))) {
        return { variable: shown(name), problem: SERVICE_LINK_PROBLEM };
      }
      if (known) return undefined;
      if (name.startsWith(TEST_PREFIX)) {
        return production
          ? { variable: shown(name), problem: 'is for tests only: remove it in production' }
          : undefined;
      }
      return { variable: shown(name), problem: explain(name, claimed, parents) };
    })
    .filter((problem) => problem !== undefined);
}

const isKnown = (name: string, known: ReadonlySet<string>) =>
  known.has(name) || (name.endsWith(FILE_SUFFIX) && known.has(name.slice(0, -FILE_SUFFIX.length)));

function explain(name: string, known: ReadonlySet<string>, parents: ReadonlySet<string>): string {
  const upper = name.toUpperCase();
  if (upper !== name && isKnown(upper, known)) return `must be written in upper case: ${upper}`;
  const parent = upper.endsWith(FILE_SUFFIX) ? upper.slice(0, -FILE_SUFFIX.length) : upper;
  if (parents.has(parent)) return `is not read: no JSON in a parent variable, set ${parent}__… one by one`;
  const hint = hintFor(upper, known);
  return hint === undefined ? 'is not a known variable' : `is not a known variable; did you mean ${hint}?`;
}

function hintFor(name: string, known: ReadonlySet<string>): string | undefined {
  if (name.length > MAX_SHOWN) return undefined;
  const files = name.endsWith(FILE_SUFFIX) ? [...known].map((variable) => variable + FILE_SUFFIX) : [];
  const near = nearest(name, [...files, ...known]);
  if (near !== undefined) return near;
  // A unit or another last word left out.
  const longer = [...known].filter((variable) => variable.startsWith(`${name}_`));
  return longer.length === 1 ? longer[0] : undefined;
}

/** In a damaged `.env` the "name" can be a name with a value behind it: what no name can hold is cut off. */
function shown(name: string): string {
  const clean = /^[A-Za-z0-9_]*/.exec(name)?.[0] ?? '';
  return clean.length === name.length && clean.length <= MAX_SHOWN ? clean : `${clean.slice(0, MAX_SHOWN)}…`;
}
