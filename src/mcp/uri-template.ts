/** Longest URI that is matched, and longest value of one variable, in UTF-16 units. */
const LONGEST_URI = 2048;
const LONGEST_VALUE = 256;

const EXPRESSION = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * URIs of one shape: RFC 6570 level 1, `{name}` only, each within one segment of the path. The operators of the higher
 * levels match in several ways, and their general matcher has been a denial of service (CVE-2026-0621).
 */
export class UriTemplate {
  readonly names: readonly string[];
  readonly #pattern: RegExp;

  constructor(readonly text: string) {
    this.names = [...text.matchAll(EXPRESSION)].map(([, name]) => name ?? '');
    const literals = text.split(EXPRESSION).filter((_, index) => index % 2 === 0);
    this.#pattern = new RegExp(`^${literals.map(after).join('')}$`);
  }

  /** What is wrong with it, in English; empty when nothing is. */
  problems(): string[] {
    const problems: string[] = [];
    if (this.names.length === 0) problems.push('uriTemplate has no {variable}: make it a resource');
    if (new Set(this.names).size < this.names.length) problems.push('uriTemplate names a variable twice');
    if (/[{}]/.test(this.text.replaceAll(EXPRESSION, ''))) problems.push('uriTemplate may use {name} only');
    if (/\}\{/.test(this.text)) problems.push('uriTemplate has two variables with nothing between them');
    if (!URL.canParse(this.text.replaceAll(EXPRESSION, 'x'))) problems.push('uriTemplate must be an absolute URI');
    return problems;
  }

  /** Values of the variables, percent-decoded; undefined when `uri` is of another shape. */
  match(uri: string): Readonly<Record<string, string>> | undefined {
    if (uri.length > LONGEST_URI) return undefined;
    const values = this.#pattern.exec(uri)?.slice(1);
    if (values === undefined) return undefined;
    try {
      return Object.fromEntries(this.names.map((name, index) => [name, decodeURIComponent(values[index] ?? '')]));
    } catch (error) {
      // A percent sign that begins no encoding: no URI, so none of ours.
      if ((error as Error).name === 'URIError') return undefined;
      throw error;
    }
  }
}

/**
 * A literal, and before it (unless it is the first) the variable that it ends. The variable cannot hold the character that
 * its literal begins with: so there is one way to match, found in one pass.
 */
function after(literal: string, index: number): string {
  if (index === 0) return escaped(literal);
  return `([^/?#${literal.slice(0, 1).replace(/[\]\\^-]/, '\\$&')}]{1,${LONGEST_VALUE}})${escaped(literal)}`;
}

function escaped(literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
