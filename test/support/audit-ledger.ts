import { randomBytes } from 'node:crypto';
import { type Agent } from 'node:http';
import { legacy, modern, type Reply, type Sent } from './mcp-http.js';
import { type LogLine } from './server-process.js';

/** How the client saw one call end. */
export type Seen =
  /** An answer of the tool, right or wrong. */
  | 'answered'
  /** The server refused it before it was a call: 503, or nobody listened. */
  | 'refused'
  /** No answer came: the client hung up, or the connection broke. */
  | 'unknown';

type Era = (url: string, method: string, params: Record<string, unknown>, sent: Sent) => Promise<Reply>;

export interface Entry {
  readonly traceId: string;
  readonly seen: Seen;
  /** `_meta`'s code of an answer with `isError`; undefined for any other. */
  readonly code: string | undefined;
}

/**
 * What a client knows of its calls, one entry each, under a trace id of its own that the audit writes too. The two can
 * then be compared call by call.
 */
export class Ledger {
  readonly entries: Entry[] = [];

  /** Without an agent each call has a connection of its own. */
  constructor(private readonly agent?: Agent) {}

  /** One call; never rejects. With `hangUp`, the client goes away when that is aborted. */
  async call(url: string, name: string, args: object, hangUp?: AbortSignal, era: Era = legacy): Promise<Entry> {
    const traceId = randomBytes(16).toString('hex');
    const sent = { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }, signal: hangUp, agent: this.agent };
    const entry = await era(`${url}/mcp`, 'tools/call', { name, arguments: args }, sent).then(
      (reply) => ({ traceId, ...judged(reply) }),
      (error: NodeJS.ErrnoException) => ({
        traceId,
        seen: error.code === 'ECONNREFUSED' ? ('refused' as const) : ('unknown' as const),
        code: undefined,
      }),
    );
    this.entries.push(entry);
    return entry;
  }

  get modern(): (url: string, name: string, args: object, hangUp?: AbortSignal) => Promise<Entry> {
    return (url, name, args, hangUp) => this.call(url, name, args, hangUp, modern);
  }
}

function judged({ status, json }: Reply): Pick<Entry, 'seen' | 'code'> {
  if (status === 503) return { seen: 'refused', code: undefined };
  const meta = json?.result?.['_meta'] as Record<string, { code?: string }> | undefined;
  return { seen: 'answered', code: meta?.['mcp-corp/error']?.code };
}

export interface Comparison {
  /** Sentences about calls on which the two do not agree. */
  readonly disagreements: readonly string[];
  /** Correlation ids of starts without an end. */
  readonly openStarts: readonly string[];
  readonly results: Readonly<Record<string, number>>;
}

/** The law: an answered call has one start and one end, a refused one none, of any other both or neither. */
export function compare(ledger: readonly Entry[], lines: readonly LogLine[]): Comparison {
  const [starts, ends] = ['tool_invocation_started', 'tool_invocation_completed'].map((message) => {
    const byTrace = new Map<string, LogLine[]>();
    for (const line of lines) {
      if (line.message !== message) continue;
      const trace = String(line['trace_id']);
      byTrace.set(trace, [...(byTrace.get(trace) ?? []), line]);
    }
    return byTrace;
  }) as [Map<string, LogLine[]>, Map<string, LogLine[]>];
  const disagreements: string[] = [];
  const openStarts: string[] = [];
  const results: Record<string, number> = {};
  for (const { traceId, seen, code } of ledger) {
    const [start = [], end = []] = [starts.get(traceId), ends.get(traceId)];
    starts.delete(traceId);
    ends.delete(traceId);
    const shape = `${start.length}+${end.length}`;
    if (shape === '1+0') openStarts.push(String(start[0]?.['correlation_id']));
    const allowed = seen === 'answered' ? ['1+1'] : seen === 'refused' ? ['0+0'] : ['0+0', '1+1'];
    // Refused for want of a trail: not carried out, so not recorded.
    if (code === 'audit_unavailable' || code === 'shutdown') allowed.push('0+0');
    if (!allowed.includes(shape)) disagreements.push(`${seen} ${code ?? ''}: ${shape}`);
    const [ended] = end;
    if (ended === undefined) continue;
    if (ended['correlation_id'] !== start[0]?.['correlation_id'])
      disagreements.push('another correlation id at the end');
    results[String(ended['result'])] = (results[String(ended['result'])] ?? 0) + 1;
    const reason = ended['reason'] as string | undefined;
    if (seen === 'answered' && reason !== 'shutdown' && reason !== code)
      disagreements.push(`answered ${code ?? 'well'}, recorded ${reason}`);
  }
  if (starts.size + ends.size > 0) disagreements.push(`${starts.size + ends.size} calls that nobody made`);
  return { disagreements, openStarts, results };
}
