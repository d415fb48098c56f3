// @ts-check
/** Identifiers parsed per second of CPU, over every spelling that people use. Prints JSON. */
import { parseIdentifier } from '../../dist/identifiers/parse-identifier.js';

const SPELLINGS = [
  '16760320',
  '16.760.320',
  'V16760320',
  'V-16.760.320',
  'v 16760320',
  'J-16760320-2',
  'RIF: J-16.760.320-2',
  'E-84.123.456',
];
const RULES = { prefixC: true, verifyCheckDigit: true };
const ROUNDS = 25_000;
const batches = Number(process.argv[2]);

const results = [];
let length = 0;
for (let batch = -3; batch < batches; batch++) {
  const before = process.cpuUsage();
  for (let round = 0; round < ROUNDS; round++) {
    for (const text of SPELLINGS) length += parseIdentifier(text, RULES).short.length;
  }
  const { user, system } = process.cpuUsage(before);
  if (batch >= 0) results.push((ROUNDS * SPELLINGS.length * 1e6) / (user + system));
}
if (length === 0) throw new Error('nothing was parsed');
process.stdout.write(JSON.stringify(results));
