/** Where an HTTP source is: its base URL taken apart once, and the paths under it. */
export class HttpTarget {
  readonly secure: boolean;
  readonly #prefix: string;

  /** `base`: an http(s) URL without credentials, query and fragment; its path is kept as a prefix. */
  constructor(base: string) {
    const url = new URL(base);
    this.secure = url.protocol === 'https:';
    this.#prefix = url.origin + url.pathname.replace(/\/+$/, '');
  }

  /**
   * The URL of a resource, each segment percent-encoded (spec §11: F8). Throws a TypeError for an empty segment and for
   * `.` and `..`, which no encoding can stop a server from resolving.
   */
  urlOf(segments: readonly string[]): string {
    let url = this.#prefix;
    for (const segment of segments) {
      if (segment === '' || segment === '.' || segment === '..') throw new TypeError('not a path segment');
      url += `/${encodeURIComponent(segment)}`;
    }
    return url;
  }
}
