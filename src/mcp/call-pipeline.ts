import 'reflect-metadata';
import { UseFilters, UseInterceptors, type ExceptionFilter, type NestInterceptor } from '@nestjs/common';
import type { ExternalContextCreator } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { McpCall } from './call.js';
import { isCallStep, walkOf, type CallStep, type Walk } from './call-step.js';
import { CatalogueError } from './catalogue-error.js';
import type { CompiledEntry } from './catalogue-entry.js';
import type { Result } from './results.js';
import { ValidateInterceptor } from './validate.interceptor.js';

/** Context type of the calls, as `ExecutionContext.getType()` gives it. */
export const MCP_CONTEXT = 'mcp';

/** Nest keeps the enhancers of a class or a method under these keys. */
const ENHANCERS = ['__guards__', '__interceptors__', '__pipes__', '__exceptionFilters__'] as const;

type Method = (call: McpCall) => Promise<Result>;

/**
 * The steps in their one order around one method, the error filter outermost: Nest's own enhancer pipeline, or the same
 * walk in promises where every step offers it (a quarter of the CPU; docs/decisions/0007).
 */
export class CallPipeline {
  /** Undefined when one of the steps is known to Nest's pipeline only. */
  readonly #direct: readonly CallStep[] | undefined;

  constructor(
    private readonly contexts: ExternalContextCreator,
    private readonly steps: readonly NestInterceptor[],
    private readonly filter: ExceptionFilter,
  ) {
    if (!steps.some((step) => step instanceof ValidateInterceptor)) {
      throw new CatalogueError(['CALL_STEPS must hold ValidateInterceptor: methods take their arguments as checked']);
    }
    this.#direct = steps.every(isCallStep) ? steps : undefined;
  }

  /** `host`: the instance that `method` belongs to, for `ExecutionContext.getClass()`. */
  around(host: object, method: string, body: Method): CompiledEntry['run'] {
    refuseOwnEnhancers(host, method);
    return this.#direct === undefined ? this.#byNest(host, method, body) : this.#inPromises(this.#direct, host, body);
  }

  #inPromises(steps: readonly CallStep[], host: object, body: Method): Walk {
    const walk = walkOf(steps, async (call) => body(call));
    return async (call) => {
      try {
        return await walk(call);
      } catch (error) {
        const context = new ExecutionContextHost([call], host.constructor as never, body);
        context.setType(MCP_CONTEXT);
        return this.filter.catch(error, context) as Result;
      }
    };
  }

  /**
   * The steps are put on a function made for this application, not on the class: a class may serve in two applications
   * of one process, and would collect the steps of both.
   */
  #byNest(host: object, method: string, body: Method): CompiledEntry['run'] {
    const innermost = (call: McpCall) => body(call);
    const descriptor = { value: innermost };
    UseInterceptors(...this.steps)(host, method, descriptor);
    UseFilters(this.filter)(host, method, descriptor);
    // Nest types what it calls as taking anything; it is given exactly one call.
    const callback = innermost as (...args: unknown[]) => unknown;
    const options = { guards: false, interceptors: true, filters: true };
    const none = undefined;
    const run = this.contexts.create(host, callback, method, none, none, none, none, options, MCP_CONTEXT);
    return run as CompiledEntry['run'];
  }
}

/** Those of the class would run outside of the audit: a guard's refusal, an interceptor's error would leave no record. */
function refuseOwnEnhancers(host: object, method: string): void {
  const type = host.constructor;
  const own = (host as Readonly<Record<string, unknown>>)[method];
  const targets = typeof own === 'function' ? [type, own] : [type];
  for (const target of targets) {
    for (const key of ENHANCERS) {
      if (Reflect.hasMetadata(key, target)) {
        throw new CatalogueError([`${type.name} brings enhancers of its own (${key}): CALL_STEPS is the one list`]);
      }
    }
  }
}
