import { z, type ZodType } from 'zod';

/** One block of what a model or its user reads (MCP ContentBlock). Made by the functions below. */
export type ContentBlock = Readonly<Record<string, unknown>> & { readonly type: string };

/** One message of a prompt. */
export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock;
}

/** Text as it is, or bytes, which travel as base64. */
export type Body = string | Uint8Array;

/** The answer of a tool whose `output` is CONTENT: blocks, and no data for programs. */
export class Content {
  constructor(readonly blocks: readonly ContentBlock[]) {}
}

/** In the place of an output schema: the tool has no data to give, and answers with `content(…)`. */
export const CONTENT: ZodType = z.instanceof(Content);

export function content(...blocks: ContentBlock[]): Content {
  return new Content(blocks);
}

export function text(value: string): ContentBlock {
  return { type: 'text', text: value };
}

export function image(data: Uint8Array, mimeType: string): ContentBlock {
  return { type: 'image', data: base64(data), mimeType };
}

export function audio(data: Uint8Array, mimeType: string): ContentBlock {
  return { type: 'audio', data: base64(data), mimeType };
}

/** A resource within the answer; its URI need not be one that this server serves. */
export function embedded(uri: string, mimeType: string, body: Body): ContentBlock {
  return { type: 'resource', resource: resourceContents(uri, mimeType, body) };
}

export function resourceContents(uri: string, mimeType: string, body: Body): Readonly<Record<string, unknown>> {
  return typeof body === 'string' ? { uri, mimeType, text: body } : { uri, mimeType, blob: base64(body) };
}

function base64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}
