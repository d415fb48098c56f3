import { z } from 'zod';
import { explain, REASON_CODES, PRINCIPAL_PROBLEMS, type Allow, type Explanation } from '../governance/core/index.js';
import { loadText } from '../governance/served-policy.js';
import { readYaml } from '../governance/policy-file/yaml-text.js';
import { CommandFailure, EXIT_CODES } from './exit-codes.js';
import { compiledPolicy, type Product } from './policy-argument.js';
import { questionOf } from './question.js';
import { answer, type Terminal } from './terminal.js';

/** One decision that a policy must make; what is not said is not looked at. */
const expectation = z.strictObject({
  name: z.string().min(1),
  issuer: z.string().min(1),
  subject: z.string().optional(),
  attributes: z.record(z.string(), z.string()).optional(),
  capability: z.string().optional(),
  entry: z.string().optional(),
  about: z.string().optional(),
  usage: z.union([z.int().min(0), z.enum(['unknown', 'none'])]).optional(),
  at: z.iso.datetime({ offset: true }).optional(),
  expect: z.enum(['allow', 'deny']),
  code: z.enum([...REASON_CODES, ...PRINCIPAL_PROBLEMS]).optional(),
  account: z.string().optional(),
  omit: z.array(z.string()).optional(),
  ceilings: z.array(z.string()).optional(),
});
type Expectation = z.infer<typeof expectation>;
const expectations = z.strictObject({ version: z.literal(1), tests: z.array(expectation).min(1) });

interface Verdict {
  readonly name: string;
  readonly passed: boolean;
  /** `field: expected …, got …`. */
  readonly differences: readonly string[];
}

/** Compares a policy with a file of expected decisions, for a pipeline. Findings (1) when any differs. */
export async function test(
  origin: string,
  file: string,
  json: boolean,
  product: Product,
  terminal: Terminal,
  now: number,
): Promise<number> {
  const { policy, version } = await compiledPolicy(origin, product);
  const verdicts = (await read(file)).map((wanted): Verdict => {
    const { at, ...written } = wanted;
    const question = questionOf({ ...written, ...(at !== undefined && { at: Date.parse(at) }) }, policy, product, now);
    const differences = compare(wanted, explain(policy, question, product.canonical));
    return { name: wanted.name, passed: differences.length === 0, differences };
  });
  const failed = verdicts.filter(({ passed }) => !passed).length;
  answer(
    terminal,
    json,
    () => ({ origin, version, passed: verdicts.length - failed, failed, tests: verdicts }),
    () => [
      ...verdicts.flatMap(({ name, passed, differences }) => [
        `${passed ? 'ok  ' : 'FAIL'} ${name}`,
        ...differences.map((difference) => `     ${difference}`),
      ]),
      `${verdicts.length - failed} passed, ${failed} failed`,
    ],
  );
  return failed > 0 ? EXIT_CODES.findings : EXIT_CODES.ok;
}

async function read(file: string): Promise<readonly Expectation[]> {
  const reading = readYaml(await loadText(file));
  if (!reading.ok) {
    const [problem] = reading.problems;
    const { line = 1, column = 1 } = problem?.position ?? {};
    throw new CommandFailure(EXIT_CODES.usage, `${file}:${line}:${column}: ${problem?.message}`);
  }
  const parsed = expectations.safeParse(reading.value);
  if (parsed.success) return parsed.data.tests;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const pointer = path.map((token) => `/${String(token)}`).join('');
    const position = reading.locate(pointer);
    return `${file}${position === undefined ? '' : `:${position.line}:${position.column}`} ${pointer}: ${message}`;
  });
  throw new CommandFailure(EXIT_CODES.usage, problems.join('\n'));
}

function compare(wanted: Expectation, { resolution, decision }: Explanation): readonly string[] {
  const outcome = decision?.outcome ?? 'deny';
  const code = resolution.ok ? decision?.reason.code : resolution.problem;
  const allow = decision?.outcome === 'allow' ? decision : undefined;
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['expect', wanted.expect, outcome],
    ['code', wanted.code, code],
    ['account', wanted.account, allow?.account],
    ['omit', wanted.omit && [...wanted.omit].sort(), allow?.omit],
    ['ceilings', wanted.ceilings && [...wanted.ceilings].sort(), allow && ceilingsOf(allow)],
  ];
  return pairs
    .filter(([, expected, got]) => expected !== undefined && JSON.stringify(expected) !== JSON.stringify(got))
    .map(
      ([field, expected, got]) => `${field}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got ?? null)}`,
    );
}

/** `10 calls/1h`, `3 subjects/24h`. */
const ceilingsOf = ({ charges }: Allow): readonly string[] =>
  charges.map(({ kind, limit, per }) => `${limit} ${kind}/${per}`).sort();
