/**
 * What a log line may say of a failure: a code such as `ECONNREFUSED` or `28P01`, or the error's class. Never a message:
 * the driver's have hosts, ports, users and values in them (spec §11: A3).
 */
export function causeCode(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string' && /^[A-Z0-9_]{3,64}$/.test(at.code)) return at.code;
  }
  return error instanceof Error ? error.name : 'unknown';
}
