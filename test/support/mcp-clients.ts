import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** A result as far as the tests look at it. */
export interface CallResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** The part of both SDKs' clients that is the same. */
export interface McpClient {
  getServerVersion(): { name: string; version: string } | undefined;
  listTools(): Promise<{ tools: { name: string; inputSchema: object; outputSchema?: object; annotations?: object }[] }>;
  listResources(): Promise<{ resources: { uri: string; name: string; mimeType?: string }[] }>;
  listPrompts(): Promise<{ prompts: { name: string; arguments?: { name: string }[] }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }, ...rest: unknown[]): Promise<CallResult>;
  readResource(params: { uri: string }): Promise<{ contents: { uri: string; mimeType?: string; text: string }[] }>;
  getPrompt(params: {
    name: string;
    arguments: Record<string, string>;
  }): Promise<{ messages: { role: string; content: { type: string; text: string } }[] }>;
  close(): Promise<void>;
}

const INFO = { name: 'prueba', version: '1.0.0' };

/** The official v1 client: 2025-11-25. `headers` go with every request. */
export async function connectV1(url: string, headers: Readonly<Record<string, string>> = {}): Promise<McpClient> {
  const client = new ClientV1(INFO);
  await client.connect(new TransportV1(new URL(url), { requestInit: { headers } }));
  return client as unknown as McpClient;
}

/** The official v2 client, by default pinned to 2026-07-28. */
export async function connectV2(
  url: string,
  mode: 'legacy' | 'auto' | { pin: string } = { pin: '2026-07-28' },
  headers: Readonly<Record<string, string>> = {},
): Promise<McpClient> {
  const client = new ClientV2(INFO, { versionNegotiation: { mode } });
  await client.connect(new TransportV2(new URL(url), { requestInit: { headers } }));
  return client as unknown as McpClient;
}

/** The two eras, for `describe.each`. */
export const ERAS = [
  ['the v1 client (2025-11-25)', connectV1],
  ['the v2 client (2026-07-28)', connectV2],
] as const;
