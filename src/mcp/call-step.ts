import type { NestInterceptor } from '@nestjs/common';
import type { McpCall } from './call.js';
import type { Result } from './results.js';

/**
 * A step of CALL_STEPS that can also be walked without Nest's pipeline: `around` does what its `intercept` does, in
 * promises. When every step of the list is one, the calls of an application walk these (docs/decisions/0007); a list with
 * one plain interceptor in it is walked by Nest, all of it.
 */
export interface CallStep extends NestInterceptor {
  /** Runs the rest of the walk by calling `next`, at most once. What it throws or rejects with ends the call. */
  around(call: McpCall, next: () => Promise<Result>): Promise<Result>;
}

export function isCallStep(step: NestInterceptor): step is CallStep {
  return 'around' in step && typeof step.around === 'function';
}

export type Walk = (call: McpCall) => Promise<Result>;

/** `steps`, the first one outermost, around `method`. */
export function walkOf(steps: readonly CallStep[], method: Walk): Walk {
  return steps.reduceRight<Walk>((inner, step) => (call) => step.around(call, () => inner(call)), method);
}
