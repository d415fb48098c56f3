// @ts-check
/** The official clients of both generations, calling until they are told to stop. */
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const INFO = { name: 'verify-load', version: '1.0.0' };
const MAX_ERROR_TEXT = 120;

/** @param {string} url */
export async function connectV1(url) {
  const client = new ClientV1(INFO);
  const transport = /** @type {unknown} */ (new TransportV1(new URL(url)));
  await client.connect(/** @type {Parameters<typeof client.connect>[0]} */ (transport));
  return client;
}

/** @param {string} url */
export async function connectV2(url) {
  const client = new ClientV2(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new TransportV2(new URL(url)));
  return client;
}

/** What all callers together were told. */
export class Tally {
  calls = 0;
  failed = 0;
  /** @type {string | undefined} */
  example;

  /** @param {string} why */
  fail(why) {
    this.failed += 1;
    this.example ??= why.replaceAll(/\s+/g, ' ').slice(0, MAX_ERROR_TEXT);
  }
}

/**
 * @param {{ callTool(params: { name: string, arguments: Record<string, unknown> }): Promise<unknown>, close(): Promise<void> }} client
 * @param {string} tool @param {Tally} tally @param {() => boolean} wanted
 */
export async function keepCalling(client, tool, tally, wanted) {
  while (wanted()) {
    try {
      const result = await client.callTool({ name: tool, arguments: { identificador: 'V16760320' } });
      const { isError, content } = /** @type {import('../load/mcp-session.mjs').ToolResult} */ (result);
      if (isError === true) tally.fail(content?.[0]?.text ?? 'isError');
    } catch (error) {
      tally.fail(error instanceof Error ? error.message : String(error));
    }
    tally.calls += 1;
  }
  await client.close();
}

/**
 * Listens, and listens again whenever the stream has ended.
 *
 * @param {ClientV2} client @param {{ graceful: number, cut: number, refused: number, open: number }} streams
 * @param {() => boolean} wanted
 */
export async function keepListening(client, streams, wanted) {
  while (wanted()) {
    const subscription = await client.listen({ toolsListChanged: true }).catch(() => undefined);
    if (subscription === undefined) {
      streams.refused += 1;
      continue;
    }
    streams.open += 1;
    const how = await subscription.closed;
    streams.open -= 1;
    if (how === 'graceful') streams.graceful += 1;
    else streams.cut += 1;
  }
  await client.close();
}
