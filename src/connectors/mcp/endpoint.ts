import { type PriorDiscovery } from '@modelcontextprotocol/client';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { type Agent, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { delimiter, isAbsolute, join } from 'node:path';
import { keepAliveAgent } from '../http/keep-alive-agent.js';
import { SourceResolver } from '../source-resolver.js';
import { UpstreamChild } from './child-process.js';
import { HttpWire } from './http-wire.js';
import { UpstreamAccountRefusedError, UpstreamConnectError } from './mcp-errors.js';
import { type SessionOptions, type UpstreamSession } from './upstream-session.js';

/** Where an upstream is, as a policy writes it. */
export type UpstreamTransport =
  | { readonly kind: 'mcp-http'; readonly url: string }
  | { readonly kind: 'mcp-stdio'; readonly command: string; readonly args?: readonly string[] };

export interface EndpointOptions extends Omit<SessionOptions, 'prior'> {
  readonly transport: UpstreamTransport;
  /** Requests that may be open at a time. */
  readonly maxConcurrency: number;
  /** `PATH` of this process, for children. */
  readonly path: string | undefined;
}

/** One upstream, and how sessions with it are opened. Nothing of a session is kept but which revision it spoke. */
export interface UpstreamEndpoint {
  /** `credential` undefined: without one, as discovery asks. Rejects with an UpstreamError or an HttpError. */
  open(credential: string | undefined, signal: AbortSignal): Promise<UpstreamSession>;
  /** What was learnt of its revision is not so any more. */
  forget(): void;
  /** Whether a session could be tried: it answers HTTP, or its program is there. Never rejects. */
  reachable(signal: AbortSignal): Promise<boolean>;
  close(): void;
}

export const endpointOf = (options: EndpointOptions): UpstreamEndpoint =>
  options.transport.kind === 'mcp-http'
    ? new HttpEndpoint(options, options.transport.url)
    : new StdioEndpoint(options, options.transport.command, options.transport.args ?? []);

/** Loaded with the first session: the SDK is large, and a server without upstreams must not wait for it. */
const sdk = () => import('./upstream-session.js');

/** Cancellations, lists and the end of a session, beside the calls. */
const BESIDE_THE_CALLS = 4;

class HttpEndpoint implements UpstreamEndpoint {
  readonly #url: URL;
  readonly #agent: Agent;
  #prior: PriorDiscovery | undefined;

  constructor(
    private readonly options: EndpointOptions,
    url: string,
  ) {
    this.#url = new URL(url);
    this.#agent = keepAliveAgent({
      secure: this.#url.protocol === 'https:',
      maxSockets: options.maxConcurrency + BESIDE_THE_CALLS,
      lookup: new SourceResolver({ clock: options.clock }).lookup,
      tls: {},
    });
  }

  async open(credential: string | undefined, signal: AbortSignal): Promise<UpstreamSession> {
    const { UpstreamSession } = await sdk();
    const wire = new HttpWire({ url: this.#url, agent: this.#agent, maxBytes: this.options.maxBytes }, credential);
    const prior = this.#prior;
    // A revision that has changed since is found out by asking again the next time.
    this.#prior = undefined;
    const session = await UpstreamSession.overHttp(this.#url, wire, { ...this.options, prior }, signal);
    this.#prior = session.prior;
    return session;
  }

  forget(): void {
    this.#prior = undefined;
  }

  /** Any answer that is no fault of the server: without a session and a credential most refuse, and are well. */
  reachable(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const request = (this.#url.protocol === 'https:' ? secureRequest : plainRequest)(this.#url, {
        ...{ method: 'GET', agent: this.#agent, headers: { accept: 'text/event-stream' } },
      });
      const done = (answers: boolean): void => {
        signal.removeEventListener('abort', leave);
        request.destroy();
        resolve(answers);
      };
      const leave = (): void => done(false);
      signal.addEventListener('abort', leave);
      request.once('response', ({ statusCode = 500 }) => done(statusCode < 500));
      request.on('error', () => done(false));
      request.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

class StdioEndpoint implements UpstreamEndpoint {
  #prior: PriorDiscovery | undefined;

  constructor(
    private readonly options: EndpointOptions,
    private readonly command: string,
    private readonly args: readonly string[],
  ) {}

  async open(credential: string | undefined, signal: AbortSignal): Promise<UpstreamSession> {
    const prior = this.#prior;
    this.#prior = undefined;
    let session: UpstreamSession;
    try {
      session = await this.#spawn(credential, prior, signal);
    } catch (error) {
      if (prior !== undefined || signal.aborted || !isProbeDeath(error)) throw error;
      // Some older servers end when the first thing they hear is not `initialize`: a new child is greeted the old way.
      session = await this.#spawn(credential, { kind: 'legacy' }, signal);
    }
    this.#prior = session.prior;
    return session;
  }

  forget(): void {
    this.#prior = undefined;
  }

  async reachable(): Promise<boolean> {
    const { command } = this;
    const folders = isAbsolute(command) || command.includes('/') ? [''] : (this.options.path ?? '').split(delimiter);
    const found = await Promise.all(
      folders.map((folder) => isExecutable(folder === '' ? command : join(folder, command))),
    );
    return found.includes(true);
  }

  close(): void {}

  async #spawn(
    credential: string | undefined,
    prior: PriorDiscovery | undefined,
    signal: AbortSignal,
  ): Promise<UpstreamSession> {
    const { UpstreamSession } = await sdk();
    signal.throwIfAborted();
    // Node's own error would quote it.
    if (credential?.includes('\0')) throw new UpstreamAccountRefusedError();
    const { path, clock } = this.options;
    const child = new UpstreamChild({ command: this.command, args: this.args, path }, credential, clock);
    return UpstreamSession.overPipe(child, { ...this.options, prior }, signal);
  }
}

const isProbeDeath = (error: unknown): boolean =>
  error instanceof UpstreamConnectError && error.code === 'ERA_NEGOTIATION_FAILED';

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
