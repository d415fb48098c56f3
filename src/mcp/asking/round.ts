/**
 * What a caller of the 2026 era sends with a call: what it can be asked, and what it answers to earlier questions. Nothing
 * of it is verified. Absent in the 2025 era, where a stateless server has no way to ask.
 */
export interface Round {
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly responses: Readonly<Record<string, unknown>>;
  readonly state?: string;
}
