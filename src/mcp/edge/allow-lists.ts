import { LOOPBACK_HOSTS } from '../http.settings.js';

/**
 * Host and Origin of a request against what the configuration lists (DNS rebinding, GHSA-w48q-cv73-mx4w). A listed host
 * without a port stands for any port, one with a port for that one; a listed origin is compared exactly, scheme and port
 * included. Where no origin is listed, browsers on this machine may call, but get no CORS headers.
 */
export class AllowLists {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor(hosts: readonly string[], origins: readonly string[]) {
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(origins.map((origin) => new URL(origin).origin));
  }

  get listsOrigins(): boolean {
    return this.#origins.size > 0;
  }

  allowsHost(header: string | undefined): boolean {
    if (header === undefined) return false;
    const host = header.toLowerCase();
    return this.#hosts.has(host) || this.#hosts.has(withoutPort(host));
  }

  /** A missing header is no browser's request, and allowed. */
  allowsOrigin(header: string | undefined): boolean {
    if (header === undefined) return true;
    return this.listsOrigins ? this.isListed(header) : isLoopback(header);
  }

  isListed(origin: string | undefined): origin is string {
    return origin !== undefined && this.#origins.has(origin);
  }
}

function withoutPort(host: string): string {
  return host.replace(/:\d{1,5}$/, '');
}

function isLoopback(origin: string): boolean {
  const match = /^https?:\/\/(.+)$/.exec(origin.toLowerCase());
  return match?.[1] !== undefined && LOOPBACK_HOSTS.includes(withoutPort(match[1]));
}
