import { DiscoveryService } from '@nestjs/core';
import type { ZodType } from 'zod';
import type { McpCall } from './call.js';

/** Behaviour hints of a tool (MCP ToolAnnotations). */
export interface ToolHints {
  readonly readOnlyHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
  readonly destructiveHint?: boolean;
}

export interface McpToolOptions {
  readonly name: string;
  readonly title: string;
  /** Written for a model. */
  readonly description: string;
  /** zod object; unknown arguments are refused. */
  readonly input: ZodType;
  /** zod schema that every result is checked against before it leaves. */
  readonly output: ZodType;
  /** Names of the sources; a class whose sources are not all enabled is not constructed. */
  readonly requires: readonly string[];
  readonly annotations: ToolHints;
  readonly outcome?: (result: never) => 'success' | 'partial';
  /** Names of the tools whose decisions a composite needs. */
  readonly parts?: readonly string[];
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

export interface McpPromptOptions {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** zod object of string arguments. */
  readonly input: ZodType;
  readonly requires: readonly string[];
}

/** Marks a class as a tool: see `Tool` for its methods. */
export const McpTool = DiscoveryService.createDecorator<McpToolOptions>();
export const McpResource = DiscoveryService.createDecorator<McpResourceOptions>();
export const McpPrompt = DiscoveryService.createDecorator<McpPromptOptions>();

/** What a class marked with `@McpTool` implements. */
export interface Tool<Input, Output> {
  /** Canonical identifier of whom the call is about; throws a CallError. Called with arguments not yet validated. */
  subject?(input: unknown): string | null;
  call(input: Input, call: McpCall): Promise<Output>;
}

/** What a class marked with `@McpResource` implements: the text of the resource. */
export interface Resource {
  read(call: McpCall): Promise<string> | string;
}

/** What a class marked with `@McpPrompt` implements: the text of one user message. */
export interface Prompt<Input> {
  subject?(input: unknown): string | null;
  render(input: Input, call: McpCall): Promise<string> | string;
}
