import { diff as difference, type Change, type Effect } from '../governance/core/index.js';
import { EXIT_CODES } from './exit-codes.js';
import { place, readPolicy, type PolicyArgument, type Product } from './policy-argument.js';
import { answer, type Terminal } from './terminal.js';

/** What would change for callers. Findings (1) when anything would, or when a side does not compile. */
export async function diff(
  before: string,
  after: string,
  json: boolean,
  product: Product,
  terminal: Terminal,
): Promise<number> {
  const [one, other] = [await readPolicy(before, product), await readPolicy(after, product)];
  const found = difference(one, other);
  const versions = { before: one.version, after: other.version };
  if (!found.comparable) {
    answer(
      terminal,
      json,
      () => ({ ...versions, comparable: false, changes: [], errors: { before: found.before, after: found.after } }),
      () => [...broken(one, found.before.length), ...broken(other, found.after.length)],
    );
    return EXIT_CODES.findings;
  }
  const { changes, grants, entries, identities, partial } = found;
  const same = [changes, grants.removed, grants.added, entries, identities].every(({ length }) => length === 0);
  answer(
    terminal,
    json,
    () => ({ ...versions, ...found }),
    () => [
      `${changes.length} changes for callers`,
      ...changes.flatMap((change) => lines(change)),
      ...grants.removed.map((path) => `- grant ${place(before, one.locate, path)}`),
      ...grants.added.map((path) => `+ grant ${place(after, other.locate, path)}`),
      ...entries.map(
        ({ kind, exposedName, before: was = 'not mapped', after: is = 'not mapped' }) =>
          `${kind} ${exposedName}: ${was} -> ${is}`,
      ),
      ...identities.map((issuer) => `the key of ${issuer} is somebody else`),
      ...(partial ? ['there are too many joint selectors: not all of them were asked about'] : []),
    ],
  );
  return same ? EXIT_CODES.ok : EXIT_CODES.findings;
}

const broken = ({ origin }: PolicyArgument, errors: number): readonly string[] =>
  errors === 0 ? [] : [`${origin} does not compile: ${errors} errors (mcp-corp validate ${origin})`];

function lines({ issuer, attributes, capability, subject, before, after }: Change): readonly string[] {
  const who = [...attributes].map(([name, value]) => `${name}=${value}`).join(', ');
  const whose = subject === 'any' ? '' : subject === 'other' ? ', data of others' : `, own data by ${subject.own}`;
  return [`${issuer} [${who}] → ${capability}${whose}`, `    before  ${told(before)}`, `    after   ${told(after)}`];
}

function told(effect: Effect | undefined): string {
  if (effect === undefined) return 'the capability does not exist';
  const { outcome, code, account, calls, distinctSubjects, omit } = effect;
  return [
    `${outcome} (${code})`,
    ...(account === undefined ? [] : [`account ${account}`]),
    ...calls.map(({ limit, per }) => `${limit} calls per ${per}`),
    ...distinctSubjects.map(({ limit, per }) => `${limit} different subjects per ${per}`),
    ...(omit.length === 0 ? [] : [`without ${omit.join(', ')}`]),
  ].join(', ');
}
