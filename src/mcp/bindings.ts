import type { NestInterceptor } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { CatalogueError } from './catalogue-error.js';
import { CHANGE_BUS, type ChangeBus } from './changes.js';
import type { CertificateHeader } from './edge/certificate-header.js';
import {
  CALL_STEPS,
  CALL_TRACER,
  CATALOGUE_SOURCES,
  CERTIFICATE_HEADER,
  CHALLENGER,
  LIST_JOURNAL,
  VISIBILITY,
} from './ports.js';
import type { CallTracer, CatalogueSource, Challenger, ListJournal, Visibility } from './ports.js';

/** Lower-case name of the header that carries the caller's credential; `authorization` when nobody binds it. */
export const CREDENTIAL_HEADER = Symbol('CREDENTIAL_HEADER');

/** Calls in flight at a time when `HTTP__MAX_CALLS` is not set: 10 × the sum of the sources' concurrencies. */
export const CALL_LIMIT = Symbol('CALL_LIMIT');

/** For an application without sources. */
const FALLBACK_CALL_LIMIT = 100;

const SEES_ALL: Visibility = { view: () => ({ key: 'all', sees: () => true }) };

/**
 * The ports of this folder, wherever in the application they are bound. Looked up among all providers because `mcp`
 * imports nobody, and what app.module.ts provides is not visible to the modules that it imports.
 */
export class Bindings {
  readonly #found = new Map<symbol, unknown>();

  constructor(private readonly discovery: DiscoveryService) {}

  get steps(): readonly NestInterceptor[] {
    const steps = this.one<readonly NestInterceptor[]>(CALL_STEPS);
    if (steps === undefined) throw new CatalogueError(['CALL_STEPS is not bound: calls would leave no audit']);
    return steps;
  }

  get sources(): readonly CatalogueSource[] {
    return this.one<readonly CatalogueSource[]>(CATALOGUE_SOURCES) ?? [];
  }

  get visibility(): Visibility {
    return this.one<Visibility>(VISIBILITY) ?? SEES_ALL;
  }

  get lists(): ListJournal | undefined {
    return this.one<ListJournal>(LIST_JOURNAL);
  }

  get credentialHeader(): string {
    return (this.one<string>(CREDENTIAL_HEADER) ?? 'authorization').toLowerCase();
  }

  get certificateHeader(): CertificateHeader | undefined {
    return this.one<CertificateHeader>(CERTIFICATE_HEADER);
  }

  get challenger(): Challenger | undefined {
    return this.one<Challenger>(CHALLENGER);
  }

  get changes(): ChangeBus | undefined {
    return this.one<ChangeBus>(CHANGE_BUS);
  }

  get tracer(): CallTracer | undefined {
    return this.one<CallTracer>(CALL_TRACER);
  }

  get callLimit(): number {
    return this.one<number>(CALL_LIMIT) ?? FALLBACK_CALL_LIMIT;
  }

  private one<T>(token: symbol): T | undefined {
    if (!this.#found.has(token)) this.#found.set(token, this.look(token));
    return this.#found.get(token) as T | undefined;
  }

  private look(token: symbol): unknown {
    const bound = this.discovery.getProviders().filter((provider) => provider.token === token);
    if (bound.length > 1) throw new CatalogueError([`${String(token.description)} is bound ${bound.length} times`]);
    return bound[0]?.instance as unknown;
  }
}
