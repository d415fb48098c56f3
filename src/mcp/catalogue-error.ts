/** Something wrong with what the catalogue was given, all of it at once. The process must not start. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';

  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}
