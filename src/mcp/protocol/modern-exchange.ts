import { PerRequestHTTPServerTransport } from '@modelcontextprotocol/server';
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtraInfo,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import type { Replying } from './answer.js';

type Classification = NonNullable<MessageExtraInfo['classification']>;

/** The one error of a handler to which the transport gives an HTTP status of its own (mcp-protocol.md §1.1-3). */
const MISSING_CLIENT_CAPABILITY = -32021;

/**
 * One request of the 2026-07-28 revision, written straight to the Node response: no web `Request`, `Response` or stream
 * in between, which cost more than everything else together. It extends the SDK's own per-request transport because
 * `Server.connect` binds that revision for its subclasses only.
 */
export class ModernExchange extends PerRequestHTTPServerTransport {
  constructor(
    private readonly classification: Classification,
    private readonly id: JSONRPCRequest['id'],
    private readonly answer: Replying,
  ) {
    super({ classification, keepAliveMs: 0 });
  }

  override async start(): Promise<void> {}

  /**
   * Nothing to close: the answer ends itself, and the call is cut by its own exchange when the client goes. The SDK's
   * teardown would only capture a stack (30 µs) for objects that nobody holds any more.
   */
  override async close(): Promise<void> {}

  dispatch(message: JSONRPCRequest): void {
    this.onmessage?.(message, { classification: this.classification });
  }

  override async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('result' in message) {
      if (message.id === this.id) this.answer.finish(message, 200);
    } else if ('error' in message) {
      // Errors with other statuses are found before a handler runs, and such requests are not carried here.
      const status = message.error.code === MISSING_CLIENT_CAPABILITY ? 400 : 200;
      if (message.id === this.id) this.answer.finish(message, status);
    } else if (!('id' in message) && options?.relatedRequestId === this.id) {
      this.answer.notify(message);
    }
  }
}
