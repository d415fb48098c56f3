import type { Server, ServerContext } from '@modelcontextprotocol/server';
import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import type { EventLog } from '../../logging/event-log.js';
import type { Round } from '../asking/round.js';
import type { CallStream } from '../call-stream.js';
import type { CallKind } from '../call.js';
import type { Catalogue } from '../catalogue.js';
import type { ListKind } from '../catalogue-views.js';
import { INVALID_PARAMS } from '../errors.js';
import type { Inbound } from '../inbound.js';
import { isRecord } from '../json-schema.js';
import { RpcFailure, UnknownEntryFailure, type Result } from '../results.js';
import { startCall } from '../start-call.js';
import { complete } from '../suggestions.js';
import { completing, located, named, unpaged } from './params.js';
import { asProtocolError, masked, protocolError, unknownError } from './rpc-errors.js';

export type Era = 'modern' | 'legacy';

/** Milliseconds for which a list may be kept: the catalogue is fixed at start, but a view may change with the policy. */
const LIST_TTL_MS = 60_000;

/** How long, and for whom, a list may be kept. */
export const hintsOf = (era: Era) => (era === 'modern' ? { ttlMs: LIST_TTL_MS, cacheScope: 'private' } : {});

/** What the caller sent as arguments, when the engine has kept it away from the SDK; see `ProtocolEngine`. */
export interface Kept {
  readonly arguments: unknown;
}

/** Methods beyond the usual ones that this process has a use for. */
export interface Features {
  /** Somebody announces changes. */
  readonly changes: boolean;
  readonly completions: boolean;
}

/** One request, and what it is answered from. */
export interface Request {
  readonly catalogue: Catalogue;
  readonly inbound: Inbound;
  readonly log: EventLog;
  readonly kept?: Kept;
}

type Register = (server: Server) => void;

/** How each method is answered, to be registered with the server of one request. */
export function handlersOf(
  era: Era,
  request: Request,
  { changes, completions }: Features,
): Readonly<Record<string, Register | undefined>> {
  const { catalogue, inbound, kept } = request;
  const hints = hintsOf(era);
  const list = (kind: ListKind) =>
    asProtocolError(() => catalogue.definitions(kind, inbound.caller, inbound.exchange.signal));
  const run = (kind: CallKind, name: string, input: unknown, context: ServerContext) =>
    call(request, kind, name, input, streamOf(context), era === 'modern' ? roundOf(context) : undefined);
  // Not `kept ?? …`: a caller may well have sent `null` as arguments, and that must be refused as such.
  const argumentsOf = (message: unknown) => (kept === undefined ? message : kept.arguments);
  return {
    'tools/list': (server) =>
      server.setRequestHandler('tools/list', { params: unpaged }, async () => ({
        tools: await list('tool'),
        ...hints,
      })),
    'resources/list': (server) =>
      server.setRequestHandler('resources/list', { params: unpaged }, async () => ({
        resources: await list('resource'),
        ...hints,
      })),
    'resources/templates/list': (server) =>
      server.setRequestHandler('resources/templates/list', { params: unpaged }, async () => ({
        resourceTemplates: await list('template'),
        ...hints,
      })),
    'prompts/list': (server) =>
      server.setRequestHandler('prompts/list', { params: unpaged }, async () => ({
        prompts: await list('prompt'),
        ...hints,
      })),
    'tools/call': (server) =>
      server.setRequestHandler('tools/call', { params: named }, ({ name, arguments: sent }, context) =>
        run('tool', name, argumentsOf(sent), context),
      ),
    'resources/read': (server) =>
      server.setRequestHandler('resources/read', { params: located }, ({ uri }, context) =>
        run('resource', uri, catalogue.find('resource', uri).address?.(uri), context),
      ),
    'prompts/get': (server) =>
      server.setRequestHandler('prompts/get', { params: named }, ({ name, arguments: sent }, context) =>
        run('prompt', name, argumentsOf(sent), context),
      ),
    'completion/complete': completions ? completion(request) : undefined,
    // Accepted where changes are announced; a stateless server has no stream of that era to announce them on.
    'resources/subscribe': changes && era === 'legacy' ? subscription(request, 'resources/subscribe') : undefined,
    'resources/unsubscribe': changes && era === 'legacy' ? subscription(request, 'resources/unsubscribe') : undefined,
  };
}

function completion({ catalogue, inbound }: Request): Register {
  return (server) =>
    server.setRequestHandler('completion/complete', { params: completing }, async ({ kind, name, argument, typed }) => {
      const values = await asProtocolError(() =>
        catalogue.suggestions(kind, name, argument, inbound.caller, inbound.exchange.signal),
      );
      if (values === undefined) throw unknownError(kind === 'prompt' ? kind : 'resource', name);
      return { completion: complete(values, typed) };
    });
}

function subscription(
  { catalogue, inbound }: Request,
  method: 'resources/subscribe' | 'resources/unsubscribe',
): Register {
  return (server) =>
    server.setRequestHandler(method, { params: located }, async ({ uri }) => {
      // Not `find` alone: a hidden resource must answer as one that does not exist.
      const sees = () => catalogue.seesResource(uri, inbound.caller, inbound.exchange.signal);
      if (!(await asProtocolError(sees))) throw unknownError('resource', uri);
      return {};
    });
}

/** Runs one call. Throws the ProtocolError that its caller is answered. */
export async function call(
  { catalogue, inbound, log }: Request,
  kind: CallKind,
  name: string,
  input: unknown,
  stream: CallStream,
  round: Round | undefined,
): Promise<Result> {
  const entry = catalogue.find(kind, name);
  try {
    return await startCall(entry, input, inbound, stream, round);
  } catch (error) {
    if (error instanceof UnknownEntryFailure) throw unknownError(kind, name);
    if (!(error instanceof RpcFailure)) throw masked(error, log);
    const wrong = error.code === INVALID_PARAMS;
    throw protocolError(error, kind === 'resource' && wrong ? { uri: name } : undefined);
  }
}

function streamOf(context: ServerContext): CallStream {
  const { mcpReq } = context;
  return {
    async progress(progress, total, message) {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total, message } });
    },
    log: (level, data, logger) => mcpReq.log(level, data, logger),
  };
}

function roundOf({ mcpReq }: ServerContext): Round {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
  return {
    capabilities: isRecord(capabilities) ? capabilities : {},
    responses: mcpReq.inputResponses ?? {},
    state: mcpReq.requestState<string>(),
  };
}
