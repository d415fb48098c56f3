import { DiscoveryService } from '@nestjs/core';
import type { ZodType } from 'zod';
import type { Dialogue } from './asking/dialogue.js';
import type { Questions } from './asking/questions.js';
import type { McpCall } from './call.js';
import type { Body, Message } from './content.js';

/** Behaviour hints of a tool (MCP ToolAnnotations). */
export interface ToolHints {
  readonly readOnlyHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
  readonly destructiveHint?: boolean;
}

/**
 * The method may ask its caller (docs/ask-the-caller.md). `bound`: answers count only for the very call in which they were
 * asked for, which needs `HTTP__STATE_SECRET`. `unbound`: they are data like the arguments; nothing is kept between rounds.
 */
export type Asks = 'bound' | 'unbound';

export interface McpToolOptions {
  readonly name: string;
  readonly title: string;
  /** Written for a model. */
  readonly description: string;
  /** zod object; unknown arguments are refused. */
  readonly input: ZodType;
  /** zod schema that every result is checked against before it leaves; CONTENT of `content.ts` when it is no data. */
  readonly output: ZodType;
  /** Names of the sources; a class whose sources are not all enabled is not constructed. */
  readonly requires: readonly string[];
  readonly annotations: ToolHints;
  readonly outcome?: (result: never) => 'success' | 'partial';
  /** Names of the tools whose decisions a composite needs. */
  readonly parts?: readonly string[];
  readonly asks?: Asks;
  /** Where in the result the data of a part stand (`cliente.datos`), so that what is left out of that part alone can be found. */
  readonly partData?: Readonly<Record<string, string>>;
}

export interface McpResourceOptions {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
  readonly requires: readonly string[];
}

/** Resources of one shape. Records and lists name the template, never the URI that was asked for. */
export interface McpResourceTemplateOptions {
  /** With simple `{variables}`, each within one segment of the path. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
  /** zod object of string variables; `.meta({ examples })` and enums are offered by `completion/complete`. */
  readonly input: ZodType;
  readonly requires: readonly string[];
}

export interface McpPromptOptions {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** zod object of string arguments; `.meta({ examples })` and enums are offered by `completion/complete`. */
  readonly input: ZodType;
  readonly requires: readonly string[];
  readonly asks?: Asks;
}

/** Marks a class as a tool: see `Tool` for its methods. */
export const McpTool = DiscoveryService.createDecorator<McpToolOptions>();
export const McpResource = DiscoveryService.createDecorator<McpResourceOptions>();
export const McpResourceTemplate = DiscoveryService.createDecorator<McpResourceTemplateOptions>();
export const McpPrompt = DiscoveryService.createDecorator<McpPromptOptions>();

/** What a class marked with `@McpTool` implements. */
export interface Tool<Input, Output> {
  /** Canonical identifier of whom the call is about; throws a CallError. Called with arguments not yet validated. */
  subject?(input: unknown): string | null;
  call(input: Input, call: McpCall): Promise<Output>;
}

/** What a class marked with `@McpTool` and `asks` implements. `dialogue`: the answers so far. */
export interface AskingTool<Input, Output> {
  subject?(input: unknown): string | null;
  call(input: Input, call: McpCall, dialogue: Dialogue): Promise<Output | Questions>;
}

/** What a class marked with `@McpResource` implements: the text or the bytes of the resource. */
export interface Resource {
  read(call: McpCall): Promise<Body> | Body;
}

/** What a class marked with `@McpResourceTemplate` implements. Throws the CallError `not_found` for what is not there. */
export interface ResourceFamily<Input> {
  /** As `Tool.subject`, of the variables. */
  subject?(input: unknown): string | null;
  read(input: Input, call: McpCall): Promise<Body> | Body;
}

/** The text of one user message, or several messages. */
export type Rendered = string | readonly Message[];

/** What a class marked with `@McpPrompt` implements. */
export interface Prompt<Input> {
  subject?(input: unknown): string | null;
  render(input: Input, call: McpCall): Promise<Rendered> | Rendered;
}

/** What a class marked with `@McpPrompt` and `asks` implements. */
export interface AskingPrompt<Input> {
  subject?(input: unknown): string | null;
  render(input: Input, call: McpCall, dialogue: Dialogue): Promise<Rendered | Questions> | Rendered | Questions;
}
