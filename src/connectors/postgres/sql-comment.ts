import { callContext } from '../../logging/call-context.js';

/** Nothing else is ever written into a statement: no quote, no star and no slash can come out of these. */
const CORRELATION_ID = /^[0-9a-f]{32}$/;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * The statement with a comment that names its call (sqlcommenter's form), for whoever looks at `pg_stat_activity` or the
 * server's log. Outside of a call it stays as it is. Our statements have no names (architecture §5), so a text that is
 * never the same prepares nothing twice; a server that tracks statements by their text ignores comments.
 */
export function commented(sql: string): string {
  const call = callContext.getStore();
  if (call === undefined || !CORRELATION_ID.test(call.correlationId)) return sql;
  const traceparent = call.span?.traceparent;
  const trace = traceparent !== undefined && TRACEPARENT.test(traceparent) ? `,traceparent='${traceparent}'` : '';
  return `${sql} /*correlation_id='${call.correlationId}'${trace}*/`;
}
