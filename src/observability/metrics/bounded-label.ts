/** What stands for everything beyond the bound. */
const OTHER = 'other';

/**
 * Law of every label: its values are ours and few. The names of the catalogue and the codes of the program are; this is
 * the second lock, for the day on which somebody makes a code out of something that is not.
 */
export class BoundedLabel {
  readonly #seen = new Set<string>();

  constructor(private readonly most: number) {}

  of(value: string): string {
    if (this.#seen.has(value)) return value;
    if (this.#seen.size >= this.most) return OTHER;
    this.#seen.add(value);
    return value;
  }
}
