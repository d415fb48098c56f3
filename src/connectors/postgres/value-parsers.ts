import { parseLossless } from '../lossless-json.js';

/**
 * How PostgreSQL's text becomes a value that reaches the model exactly (architecture §5). Only these types become
 * something else than text; everything else stays PostgreSQL's own text: bigint and numeric (a double would round them),
 * dates as `YYYY-MM-DD`, timestamps without zone as such, uuid, enums, domains, ranges, arrays, extensions. NULL is null.
 *
 * The table belongs to one pool, never to the process: `pg.types` is shared with whoever else uses `pg`.
 */
type Parser = (text: string) => unknown;

/** NaN and the infinities are no JSON numbers. */
const finite: Parser = (text) => {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
};

const PARSERS = new Map<number, Parser>([
  [16, (text) => text === 't'], // bool
  [21, Number], // int2
  [23, Number], // int4
  [700, finite], // float4
  [701, finite], // float8
  [114, parseLossless], // json
  [3802, parseLossless], // jsonb
]);

const asText: Parser = (text) => text;

/**
 * A parser may throw: the query fails. This look-up may not: pg calls it where nobody catches, and the query would never
 * settle. So it is one Map read.
 */
export const valueParsers = {
  getTypeParser: (oid: number): Parser => PARSERS.get(oid) ?? asText,
};
