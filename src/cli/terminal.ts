/** Where a command writes, and in which form. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
}

/** Maps and sets as objects and lists: JSON knows neither. */
export function asJson(value: unknown): string {
  return `${JSON.stringify(
    value,
    (_key, inner: unknown) => {
      if (inner instanceof Map) return Object.fromEntries(inner) as unknown;
      return inner instanceof Set ? [...(inner as Set<unknown>)] : inner;
    },
    2,
  )}\n`;
}

/** Either the one or the other form of the same answer. */
export function answer(terminal: Terminal, json: boolean, data: () => unknown, lines: () => readonly string[]): void {
  terminal.out(json ? asJson(data()) : `${lines().join('\n')}\n`);
}
