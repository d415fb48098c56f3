import type { JSONRPCNotification } from '@modelcontextprotocol/server';
import { SERVER_INFO_META_KEY } from '@modelcontextprotocol/server';
import type { CallStream } from '../call-stream.js';
import { isRecord } from '../json-schema.js';
import type { Result } from '../results.js';
import type { Answer } from './answer.js';
import { hintsOf } from './handlers.js';
import type { UsualCall, UsualList } from './usual-call.js';

/** What a tool can tell its caller when the request asks for no progress and names no level of log messages. */
export function streamOf(era: UsualCall['era'], answer: Answer): CallStream {
  // The 2026 era gets log messages only when it names a level; the 2025 era gets all of them until it sets one.
  return era === 'modern' ? SILENT : new LogMessages(answer);
}

const SILENT: CallStream = { progress: async () => undefined, log: async () => undefined };

class LogMessages implements CallStream {
  constructor(private readonly answer: Answer) {}

  async progress(): Promise<void> {}

  async log(level: 'debug' | 'info' | 'warning' | 'error', data: unknown, logger?: string): Promise<void> {
    const message = { jsonrpc: '2.0', method: 'notifications/message', params: { level, data, logger } };
    this.answer.notify(message as JSONRPCNotification);
  }
}

/**
 * Writes the JSON-RPC answers of usual calls: the very JSON that the SDK's own server would give (a test compares them).
 * Only results that need none of its care: text, and beside it data or the mark of an error. Everything else that a call
 * can end in goes through it.
 */
export class DirectAnswers {
  readonly #serverInfo: string;
  /** What follows the tools in the result of a list of the 2026 era. */
  readonly #modernList: string;

  constructor(serverInfo: { readonly name: string; readonly version: string }) {
    this.#serverInfo = `"${SERVER_INFO_META_KEY}":${JSON.stringify(serverInfo)}`;
    const hints = JSON.stringify(hintsOf('modern')).slice(1, -1);
    this.#modernList = `,${hints},"resultType":"complete","_meta":{${this.#serverInfo}}`;
  }

  /** The message as JSON text around `tools`, which is the text of the list. */
  listText({ era, id }: UsualList, tools: string): string {
    const rest = era === 'modern' ? this.#modernList : '';
    return `{"result":{"tools":${tools}${rest}},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
  }

  /** The message as JSON text; undefined for a result that is not plain. */
  text({ era, id }: UsualCall, result: Result): string | undefined {
    if (!isPlain(result)) return undefined;
    const { _meta: meta, ...plain } = result;
    const tail = `},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
    const own = meta === undefined ? '' : JSON.stringify(meta).slice(1, -1);
    const head = `{"result":${JSON.stringify(meta === undefined ? result : plain).slice(0, -1)}`;
    if (era === 'legacy') return own === '' ? head + tail : `${head},"_meta":{${own}}${tail}`;
    return `${head},"resultType":"complete","_meta":{${own}${own === '' ? '' : ','}${this.#serverInfo}}${tail}`;
  }
}

function isPlain(result: Result): boolean {
  for (const key in result) {
    const value = result[key];
    switch (key) {
      case 'content':
        if (!Array.isArray(value) || !value.every(isText)) return false;
        break;
      case 'structuredContent':
      case '_meta':
        if (!isRecord(value)) return false;
        break;
      case 'isError':
        if (typeof value !== 'boolean') return false;
        break;
      default:
        return false;
    }
  }
  return result['content'] !== undefined;
}

function isText(block: unknown): boolean {
  if (!isRecord(block) || block['type'] !== 'text' || typeof block['text'] !== 'string') return false;
  for (const key in block) if (key !== 'type' && key !== 'text') return false;
  return true;
}
