import { explain as explained, type Allow, type Charge, type Explanation } from '../governance/core/index.js';
import { explanation } from '../governance/explanations.js';
import { EXIT_CODES } from './exit-codes.js';
import { compiledPolicy, place, type CompiledArgument, type Product } from './policy-argument.js';
import { questionOf, type WrittenQuestion } from './question.js';
import { answer, type Terminal } from './terminal.js';

/** What would be decided, and why. A denial is an answer, not a failure. */
export async function explain(
  origin: string,
  written: WrittenQuestion,
  json: boolean,
  product: Product,
  terminal: Terminal,
  now: number,
): Promise<number> {
  const loaded = await compiledPolicy(origin, product);
  const found = explained(loaded.policy, questionOf(written, loaded.policy, product, now), product.canonical);
  answer(
    terminal,
    json,
    () => dataOf(loaded, found),
    () => linesOf(loaded, found),
  );
  return EXIT_CODES.ok;
}

function dataOf({ origin, version, locate }: CompiledArgument, { resolution, decision, grants, entries }: Explanation) {
  return {
    ...{ origin, version, resolution, decision: decision ?? null },
    position: (decision && locate(decision.reason.path)) ?? null,
    grants: grants.map((grant) => ({ ...grant, position: locate(grant.path) ?? null })),
    tools: entries.map(({ entry, parts }) => ({
      kind: entry.kind,
      name: entry.exposedName,
      parts: Object.fromEntries(
        [...parts].map(([name, { outcome, reason }]) => [name, { outcome, code: reason.code }]),
      ),
    })),
  };
}

function linesOf(
  { origin, locate }: CompiledArgument,
  { resolution, decision, grants, entries }: Explanation,
): string[] {
  if (!resolution.ok || decision === undefined) {
    const problem = resolution.ok ? 'credential_missing' : resolution.problem;
    return [`NO PRINCIPAL  ${problem}`, `  ${explanation(problem, 'en')}`];
  }
  const { principal, discarded } = resolution;
  const { code, path, about } = decision.reason;
  return [
    `principal   ${principal.id}`,
    ...[...principal.attributes].map(([name, value]) => `            ${name} = ${value}`),
    ...(discarded.length > 0 ? [`discarded   ${discarded.join(', ')} (not declared by the issuer)`] : []),
    `${decision.outcome === 'allow' ? 'ALLOWED' : 'DENIED '}     ${code} (${about})`,
    ...(code === 'granted' ? [] : [`            ${explanation(code, 'en')}`]),
    `place       ${place(origin, locate, path)}`,
    ...(decision.outcome === 'allow' ? termsOf(decision) : []),
    ...entries.flatMap(({ entry, parts }) => [
      `shows       ${entry.kind} ${entry.exposedName}`,
      ...[...parts].map(([name, part]) => `            part ${name}: ${part.outcome} (${part.reason.code})`),
    ]),
    ...grants.map(
      ({ path: grant, verdict, attributes }) =>
        `grant       ${place(origin, locate, grant)}: ${verdict}${attributes.length > 0 ? ` (${attributes.join(', ')})` : ''}`,
    ),
  ];
}

function termsOf({ account, charges, subjectEquals, omit }: Allow): string[] {
  return [
    `account     ${account}`,
    ...(charges.length === 0
      ? ['ceiling     none declared']
      : charges.map((charge) => `ceiling     ${ceilingText(charge)}`)),
    ...(subjectEquals.length > 0 ? [`subject     only ${subjectEquals.join(' or ')}`] : []),
    ...(omit.length > 0 ? [`left out    ${omit.join(', ')}`] : []),
  ];
}

const ceilingText = ({ kind, limit, per }: Charge): string =>
  `${limit} ${kind === 'calls' ? 'calls' : 'different subjects'} per ${per}`;
