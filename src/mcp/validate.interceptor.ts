import { Injectable, type CallHandler, type ExecutionContext } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { McpCall } from './call.js';
import type { CallStep } from './call-step.js';
import { CallError } from './errors.js';
import type { Result } from './results.js';

export const INVALID_ARGUMENTS = 'Los argumentos no son válidos: revisa el nombre y el tipo de cada uno.';

/** Says nothing of what was wrong: the validator's own text would carry the value (defect A5). */
export function invalidArguments(): CallError {
  return new CallError('invalid_arguments', INVALID_ARGUMENTS);
}

/**
 * The step `validate` of CALL_STEPS. An interceptor and not a pipe, so that it has its place in that list: a malformed
 * call is audited, and refused before it consumes anything.
 */
@Injectable()
export class ValidateInterceptor implements CallStep {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    validate(context.getArgByIndex<McpCall>(0));
    return next.handle();
  }

  async around(call: McpCall, next: () => Promise<Result>): Promise<Result> {
    validate(call);
    return next();
  }
}

function validate(call: McpCall): void {
  call.input = call.entry.validate(call.input);
}
