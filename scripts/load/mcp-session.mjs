// @ts-check
/**
 * One caller of an MCP server over one connection, in JSON-RPC as it stands on the wire: a load generator that parses
 * every answer twice measures itself. Speaks to any server over streamable HTTP, with sessions or without.
 */
import http from 'node:http';
import https from 'node:https';

/** @typedef {'2025-11-25' | '2026-07-28'} Era */

/**
 * @typedef {object} ToolResult
 * @property {readonly { type: string, text?: string }[]} [content]
 * @property {boolean} [isError]
 * @property {unknown} [structuredContent]
 * @property {Readonly<Record<string, unknown>>} [_meta]
 *
 * @typedef {object} Session
 * @property {(tool: string, args: Readonly<Record<string, unknown>>) => Promise<ToolResult>} call Rejects when there is
 *   no result: no connection, no answer in time, another status than 200, a JSON-RPC error.
 * @property {() => Promise<void>} close Ends the session and the connection. Never rejects.
 * @property {() => void} destroy Drops the connection, calls in flight included.
 */

/** @type {readonly Era[]} */
export const ERAS = ['2025-11-25', '2026-07-28'];

const CLIENT = { name: 'mcp-corp-load', version: '1.0.0' };
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_TEXT = 200;

/**
 * @param {string | URL} url of the endpoint
 * @param {{ era?: Era, timeoutMs?: number, authorization?: string }} [options] `timeoutMs`: longest wait for one answer, default
 *   30 s; `authorization`: the header of every request, default none
 * @returns {Promise<Session>}
 */
export async function openSession(url, { era = '2025-11-25', timeoutMs = 30_000, authorization } = {}) {
  const wire = new Wire(new URL(url), timeoutMs, authorization);
  const modern = era === '2026-07-28';
  try {
    if (!modern) await wire.initialize(era);
  } catch (error) {
    wire.destroy();
    throw error;
  }
  return {
    call: async (tool, args) =>
      /** @type {ToolResult} */ (
        await wire.request('tools/call', { name: tool, arguments: args }, modern ? tool : undefined)
      ),
    close: () => wire.close(),
    destroy: () => wire.destroy(),
  };
}

/** The text of a result that is an error; undefined of one that is an answer. @param {ToolResult} result */
export function toolFailure(result) {
  if (result.isError !== true) return undefined;
  return result.content?.find(({ type }) => type === 'text')?.text?.slice(0, MAX_ERROR_TEXT) ?? 'isError';
}

class Wire {
  #lastId = 0;
  /** @type {Record<string, string>} */
  #headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

  /** @param {URL} url @param {number} timeoutMs @param {string} [authorization] */
  constructor(url, timeoutMs, authorization) {
    this.url = url;
    this.timeoutMs = timeoutMs;
    if (authorization !== undefined) this.#headers['authorization'] = authorization;
    this.library = url.protocol === 'https:' ? https : http;
    this.agent = new this.library.Agent({ keepAlive: true, maxSockets: 1 });
  }

  /** @param {Era} era */
  async initialize(era) {
    const params = { protocolVersion: era, capabilities: {}, clientInfo: CLIENT };
    const { result, headers } = await this.#ask('initialize', params, {});
    const session = headers['mcp-session-id'];
    if (typeof session === 'string') this.#headers['mcp-session-id'] = session;
    const version = /** @type {{ protocolVersion?: unknown }} */ (result).protocolVersion;
    this.#headers['mcp-protocol-version'] = typeof version === 'string' ? version : era;
    await this.#send('POST', this.#headers, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  }

  /**
   * @param {string} method @param {Record<string, unknown>} params
   * @param {string} [name] what the `Mcp-Name` header of the 2026 era says; its absence is the 2025 era
   */
  async request(method, params, name) {
    if (name === undefined) return (await this.#ask(method, params, this.#headers)).result;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': CLIENT,
    };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name };
    return (await this.#ask(method, { ...params, _meta }, headers)).result;
  }

  async close() {
    // A server without sessions answers 405; one that has gone has ended the session too.
    if (this.#headers['mcp-session-id'] !== undefined) await this.#send('DELETE', this.#headers).catch(() => undefined);
    this.destroy();
  }

  destroy() {
    this.agent.destroy();
  }

  /** @param {string} method @param {object} params @param {Record<string, string>} headers */
  async #ask(method, params, headers) {
    const id = ++this.#lastId;
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const answer = await this.#send('POST', { ...this.#headers, ...headers }, body);
    const message = messageOf(answer, id);
    if (message?.error)
      throw new Error(`JSON-RPC ${message.error.code}: ${message.error.message.slice(0, MAX_ERROR_TEXT)}`);
    if (answer.status !== 200 || message?.result === undefined) throw new Error(`HTTP ${answer.status}`);
    return { result: message.result, headers: answer.headers };
  }

  /**
   * @param {string} method @param {Record<string, string>} headers @param {string} [body]
   * @returns {Promise<Answer>}
   */
  #send(method, headers, body) {
    return new Promise((resolve, reject) => {
      const request = this.library.request(this.url, { method, headers, agent: this.agent }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (/** @type {string} */ part) => {
          text += part;
          if (text.length > MAX_ANSWER_BYTES) request.destroy(new Error('the answer is too large'));
        });
        response.on('error', reject);
        response.on('end', () => {
          clearTimeout(timer);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      });
      const timer = setTimeout(
        () => request.destroy(new Error(`no answer in ${this.timeoutMs / 1000} s`)),
        this.timeoutMs,
      );
      request.on('error', reject);
      request.on('close', () => {
        clearTimeout(timer);
        reject(new Error('the connection closed before the answer had ended'));
      });
      request.end(body);
    });
  }
}

/** @typedef {{ status: number, headers: http.IncomingHttpHeaders, text: string }} Answer */
/** @typedef {{ id?: unknown, result?: unknown, error?: { code: number, message: string } }} Message */

/** The response to `id`, as JSON or as an event of a stream. @param {Answer} answer @param {number} id */
function messageOf({ headers, text }, id) {
  const texts = headers['content-type']?.startsWith('text/event-stream') ? dataOf(text) : [text];
  for (const each of texts) {
    const message = parsed(each);
    // An error without an id is a refusal before the request was read.
    if (message?.id === id || (message?.error && message.id === null)) return message;
  }
  return undefined;
}

/** @param {string} stream */
function dataOf(stream) {
  return stream
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith('data:') ? line.slice(5).trimStart() : []))
        .join('\n'),
    )
    .filter((data) => data !== '');
}

/** @param {string} text @returns {Message | undefined} */
function parsed(text) {
  try {
    const value = /** @type {unknown} */ (JSON.parse(text));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined; // the status says what it was
  }
}
