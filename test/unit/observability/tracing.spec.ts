import { describe, expect, it } from '@jest/globals';
import { callContext } from '../../../src/logging/call-context.js';
import type { CompiledEntry } from '../../../src/mcp/catalogue-entry.js';
import type { CallSpan } from '../../../src/mcp/observation.js';
import { Tracing } from '../../../src/observability/tracing/tracing.js';
import { TracingSettings } from '../../../src/observability/tracing.settings.js';
import { Collector } from '../../support/collector.js';
import { freePort } from '../../../scripts/free-port.mjs';
import { RecordedLog } from '../connectors/support/recorded-log.js';

const ENTRY = { kind: 'tool', name: 'consultar' } as CompiledEntry;

function tracingTo(url: string, sampleRatio = 1, exportMs = 5_000) {
  const log = new RecordedLog();
  const delivered = { exported: 0, failed: 0 };
  const tracing = new Tracing({
    url: `${url}/v1/traces`,
    ...{ sampleRatio, exportMs, service: 'prueba', version: '0', environment: 'local', replica: 'r1', log },
    delivered: (spans, taken) => (delivered[taken ? 'exported' : 'failed'] += spans),
  });
  const within = <T>(span: CallSpan, body: () => T): T =>
    callContext.run({ correlationId: 'c'.repeat(32), traceId: span.traceId, span: span.current }, body);
  return { tracing, log, delivered, within };
}

describe('the spans of a call', () => {
  it('are told when they end, once, whatever is said afterwards', async () => {
    const collector = await Collector.start();
    const { tracing, delivered } = tracingTo(collector.url);
    const span = tracing.calls.begin(ENTRY, undefined);
    span.end({ result: 'denied', reason: 'no_grant_matches' });
    span.end({ result: 'success' });
    tracing.calls.begin(ENTRY, undefined).end();
    await tracing.close();
    expect(collector.spans.map(({ attributes, status }) => [attributes, status])).toEqual([
      [
        {
          ...{ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'consultar' },
          ...{ 'mcp_corp.result': 'denied', 'mcp_corp.reason': 'no_grant_matches' },
        },
        0,
      ],
      [{ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'consultar', 'error.type': 'not_accepted' }, 2],
    ]);
    expect(delivered).toEqual({ exported: 2, failed: 0 });
    await collector.close();
  });

  it('follow the caller who has decided not to be traced: ids for the logs, and nothing for the collector', async () => {
    const collector = await Collector.start();
    const { tracing, within } = tracingTo(collector.url);
    const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: false };
    const span = tracing.calls.begin(ENTRY, parent);
    expect(span.traceId).toBe(parent.traceId);
    expect(span.current.traceparent).toMatch(/^00-a{32}-[0-9a-f]{16}-00$/);
    const run = within(span, () => tracing.runs.began('fuente'));
    run?.connecting();
    const outside = span.current.traceparent;
    const inside = within(span, () => run?.operating(() => callContext.getStore()?.span?.traceparent));
    expect(inside).toMatch(/^00-a{32}-[0-9a-f]{16}-00$/);
    expect(inside).not.toBe(outside);
    run?.ended('success');
    span.end({ result: 'success' });
    await tracing.close();
    expect(collector.spans).toEqual([]);
    await collector.close();
  });

  it('are as many as the ratio says, where nobody has decided', async () => {
    const collector = await Collector.start();
    const { tracing } = tracingTo(collector.url, 0);
    const span = tracing.calls.begin(ENTRY, undefined);
    expect(span.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    span.end({ result: 'success' });
    tracing.calls.begin(ENTRY, { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true }).end();
    await tracing.close();
    expect(collector.spans.map(({ traceId }) => traceId)).toEqual(['a'.repeat(32)]);
    await collector.close();
  });

  it('do not exist for what a source is asked outside of any call', () => {
    const { tracing } = tracingTo('http://127.0.0.1:9');
    expect(tracing.runs.began('fuente')).toBeUndefined();
    const foreign = { traceparent: 'x', connecting: () => () => undefined };
    const context = { correlationId: 'c'.repeat(32), span: foreign };
    expect(callContext.run(context, () => tracing.runs.began('fuente'))).toBeUndefined();
  });

  it('tell of a run that was refused at once as an event of the call', async () => {
    const collector = await Collector.start();
    const { tracing, within } = tracingTo(collector.url);
    const span = tracing.calls.begin(ENTRY, undefined);
    within(span, () => tracing.runs.began('fuente'))?.ended('circuit_open');
    span.end({ result: 'failure', reason: 'circuit_open' });
    await tracing.close();
    expect(collector.spans).toMatchObject([{ name: 'tools/call consultar', events: ['refused'], status: 2 }]);
    await collector.close();
  });
});

describe('a dead collector', () => {
  it.each(['silence', 'refuse', 'nobody'] as const)(
    '(%s): the queue is bounded, the log tells it once, and the end waits at most 1.5 s',
    async (mood) => {
      const dead = await Collector.start();
      dead.mood = mood === 'nobody' ? 'take' : mood;
      const { tracing, log, delivered } = tracingTo(
        mood === 'nobody' ? `http://127.0.0.1:${await freePort()}` : dead.url,
        1,
        300,
      );
      for (let n = 0; n < 20_000; n += 1) tracing.calls.begin(ENTRY, undefined).end({ result: 'success' });
      if (mood === 'refuse') await log.until(({ event }) => event === 'trace_export_failed');
      const begun = performance.now();
      await tracing.close();
      expect(performance.now() - begun).toBeLessThan(2_500);
      // 4,096 wait, and one batch of 512 is on its way.
      expect(delivered.exported).toBe(0);
      expect(delivered.failed).toBeLessThanOrEqual(4_096 + 512);
      expect(log.named('trace_export_failed').length).toBeLessThanOrEqual(2);
      await dead.close();
    },
  );
});

describe('the endpoint', () => {
  const settings = (endpoint: string) => Object.assign(new TracingSettings(), { endpoint });

  it('is the traces path of a collector whose path is not given', () => {
    expect(settings('http://collector:4318').url()).toBe('http://collector:4318/v1/traces');
    expect(settings('https://collector/otlp/v1/traces').url()).toBe('https://collector/otlp/v1/traces');
    expect(new TracingSettings().url()).toBeUndefined();
  });

  it.each(['collector:4318', 'ftp://collector', 'http://user:clave@collector', 'http://collector/?token=x'])(
    'must be a URL without secrets: %s',
    (endpoint) => {
      expect(settings(endpoint).crossCheck()).toMatchObject([{ variable: 'MCP_CORP_TRACING__ENDPOINT' }]);
    },
  );
});
