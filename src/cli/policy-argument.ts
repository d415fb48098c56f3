import type { Canonical, CatalogueItem, Policy } from '../governance/core/index.js';
import type { LoadedPolicy, LocatedDiagnostic } from '../governance/policy-file/load-policy.js';
import type { Locate } from '../governance/policy-file/positions.js';
import { complete } from '../governance/load-served.js';
import { loadPolicyFile, PolicyFormError, PolicyUnreachableError } from '../governance/served-policy.js';
import { DeclaredCatalogueError, loadDeclaredCatalogue } from '../governance/upstreams/declared-catalogue.js';
import { catalogueItems, type UpstreamTools } from '../governance/upstreams/upstream-tools.js';
import { CommandFailure, EXIT_CODES } from './exit-codes.js';

/** What a dry run knows of the product. */
export interface Product {
  readonly catalogue: readonly CatalogueItem[];
  readonly canonical: Canonical;
  /** What the upstreams have, where a declared catalogue was given. */
  readonly upstreams?: UpstreamTools;
}

export interface PolicyArgument extends LoadedPolicy {
  /** As it was given. */
  readonly origin: string;
}

/** Throws CommandFailure (3) when the policy cannot be read, (2) when it is written in no form that there is. */
export async function readPolicy(origin: string, { catalogue, upstreams: declared }: Product): Promise<PolicyArgument> {
  try {
    const upstreams = async (policy: Policy) => declared && catalogueItems(complete(declared, policy));
    return { origin, ...(await loadPolicyFile(origin, { local: catalogue, upstreams })) };
  } catch (error) {
    if (error instanceof PolicyFormError) throw new CommandFailure(EXIT_CODES.usage, `${origin} ${error.message}`);
    if (!(error instanceof PolicyUnreachableError)) throw error;
    throw new CommandFailure(EXIT_CODES.unreachable, `${origin}: ${error.message}`);
  }
}

/** The product and what a declared catalogue says of its upstreams. Throws CommandFailure (3) when that is not to be had. */
export async function withCatalogue(product: Product, path: string | undefined): Promise<Product> {
  if (path === undefined) return product;
  try {
    return { ...product, upstreams: await loadDeclaredCatalogue(path) };
  } catch (error) {
    if (!(error instanceof PolicyUnreachableError) && !(error instanceof DeclaredCatalogueError)) throw error;
    const why = error instanceof PolicyUnreachableError ? `it cannot be read (${error.code})` : error.message;
    throw new CommandFailure(EXIT_CODES.unreachable, `${path}: ${why}`);
  }
}

export interface CompiledArgument extends PolicyArgument {
  readonly policy: Policy;
}

/** Throws CommandFailure (1) with every error when the artefact has any, (3) when the file cannot be read. */
export async function compiledPolicy(origin: string, product: Product): Promise<CompiledArgument> {
  const loaded = await readPolicy(origin, product);
  const { policy, version, diagnostics } = loaded;
  if (policy !== undefined) return { ...loaded, policy };
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  throw new CommandFailure(
    EXIT_CODES.findings,
    [`${origin} does not compile:`, ...errors.flatMap((error) => describe(origin, error))].join('\n'),
    { error: 'the policy does not compile', origin, version, diagnostics },
  );
}

/** `origin:line:column`, or `origin` alone where a pointer leads to nothing. */
export function place(origin: string, locate: Locate, path: string): string {
  const position = locate(path);
  const where = position === undefined ? origin : `${origin}:${position.line}:${position.column}`;
  return `${where} ${path === '' ? '<document>' : path}`;
}

export function describe(
  origin: string,
  { severity, code, message, path, position, related }: LocatedDiagnostic,
): string[] {
  const at = (one: typeof position): string => (one === undefined ? origin : `${origin}:${one.line}:${one.column}`);
  return [
    `${at(position)}  ${severity}  ${code}`,
    `    ${message}`,
    `    ${path === '' ? '<document>' : path}`,
    ...related.map((other) => `    see ${at(other.position)} ${other.path}: ${other.note}`),
  ];
}
