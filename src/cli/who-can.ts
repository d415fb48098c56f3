import { whoCan as reachabilityOf, type Holder } from '../governance/core/index.js';
import { EXIT_CODES } from './exit-codes.js';
import { compiledPolicy, place, type Product } from './policy-argument.js';
import { answer, type Terminal } from './terminal.js';

/** Every grant that opens a capability. */
export async function whoCan(
  origin: string,
  capability: string,
  json: boolean,
  product: Product,
  terminal: Terminal,
): Promise<number> {
  const { policy, version, locate } = await compiledPolicy(origin, product);
  const found = reachabilityOf(policy, capability);
  const tools = found.entries.map(({ kind, exposedName }) => ({ kind, name: exposedName }));
  answer(
    terminal,
    json,
    () => {
      const { entries: _, ...reachability } = found;
      const positions = found.holders.map(({ path }) => locate(path) ?? null);
      return { origin, version, reachability, positions, tools };
    },
    () => [
      ...(found.declared ? [] : [`'${capability}' is not declared`]),
      ...found.holders.flatMap((holder) => [
        `${holder.issuer} [${selector(holder)}]`,
        `    account     ${holder.account.id}${holder.account.disabled ? ' (disabled)' : ''}`,
        ...terms(holder).map((term) => `    ${term}`),
        `    place       ${place(origin, locate, holder.path)}`,
      ]),
      ...(found.holders.length === 0 ? ['nobody'] : []),
      ...tools.map(({ kind, name }) => `shows ${kind} ${name}`),
      ...(found.declared && !found.realized ? ['nothing realises it: nobody can use it'] : []),
    ],
  );
  return EXIT_CODES.ok;
}

const selector = ({ attributes }: Holder): string =>
  attributes.size === 0 ? 'everybody' : [...attributes].map(([name, value]) => `${name}=${value}`).join(', ');

const terms = ({ calls, distinctSubjects, subjectEquals, omit, suspended }: Holder): readonly string[] => [
  ...(calls === undefined ? [] : [`ceiling     ${calls.limit} calls per ${calls.per}`]),
  ...(distinctSubjects === undefined
    ? []
    : [`ceiling     ${distinctSubjects.limit} different subjects per ${distinctSubjects.per}`]),
  ...(subjectEquals === undefined ? [] : [`subject     only ${subjectEquals}`]),
  ...(omit.length === 0 ? [] : [`left out    ${omit.join(', ')}`]),
  ...(suspended ? ['suspended: it gives nothing'] : []),
];
