import pg from 'pg';
import { type Failure, type FailureKind } from '../../resilience/connector.js';
import { PostgresError } from './postgres-errors.js';

/**
 * Law 6 for PostgreSQL: the first five-, two- or one-character prefix of the SQLSTATE that the table knows (spec §11.3,
 * architecture §5). What it does not know is a programming error of ours, `bug`: it moves nothing and is logged loudly.
 */
const KINDS = new Map<string, FailureKind>([
  // The source is alive, but not for this call: cancelled by its own timeout, or in conflict with somebody else.
  ...['40', '57014', '55P03'].map((code) => [code, 'answered'] as const),
  // Our request is wrong: data, integrity, syntax and access rules (missing table or permission).
  ...['22', '23', '42'].map((code) => [code, 'rejected'] as const),
  // Connection, authorization, resources, limits, operator intervention, system, configuration file, foreign data.
  ...['08', '27', '28', '2F', '38', '39', '3B', '53', '54', '55', '57', '58', 'F', 'H'].map(
    (code) => [code, 'infrastructure'] as const,
  ),
]);

/** What an error that `PostgresConnector.run` threw means to the breaker. */
export function classifyPostgres(error: unknown): Failure {
  if (error instanceof PostgresError) return error.failure;
  if (error instanceof pg.DatabaseError) return { kind: kindOf(error.code ?? '') };
  return { kind: 'bug' };
}

function kindOf(sqlState: string): FailureKind {
  return KINDS.get(sqlState) ?? KINDS.get(sqlState.slice(0, 2)) ?? KINDS.get(sqlState.slice(0, 1)) ?? 'bug';
}

/** `query_canceled`: by our CancelRequest or by a timeout of the server. */
export function isCancelled(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '57014';
}

/** The server ends the session after this error (`FATAL`, `PANIC`), for example because it shuts down. */
export function endsSession(error: pg.DatabaseError): boolean {
  return error.severity === 'FATAL' || error.severity === 'PANIC';
}

/** The server does not know a setting, or cannot keep it on its platform: 42704, 22023. */
export function isUnknownSetting(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '42704' || error.code === '22023');
}
