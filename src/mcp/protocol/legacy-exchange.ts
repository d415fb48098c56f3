import type { JSONRPCMessage, JSONRPCRequest, Transport, TransportSendOptions } from '@modelcontextprotocol/server';
import type { Replying } from './answer.js';

/**
 * One request of the 2025 era. JSON first and whatever the client accepts: the SDK's stateless transport answers 406 to
 * clients that accept JSON only, and an event stream to all others. There is no session, so requests to the client have
 * no way to it and are not sent.
 */
export class LegacyExchange implements Transport {
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];

  constructor(
    private readonly id: JSONRPCRequest['id'],
    private readonly answer: Replying,
  ) {}

  async start(): Promise<void> {}

  /** See `ModernExchange.close`. */
  async close(): Promise<void> {}

  dispatch(message: JSONRPCRequest): void {
    this.onmessage?.(message, {});
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('result' in message || 'error' in message) {
      if (message.id === this.id) this.answer.finish(message, 200);
    } else if (!('id' in message) && options?.relatedRequestId === this.id) {
      this.answer.notify(message);
    }
  }
}
