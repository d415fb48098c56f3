import { Injectable, type CallHandler, type ExecutionContext } from '@nestjs/common';
import { EmptyError, tap, type Observable } from 'rxjs';
import type { McpCall } from '../mcp/call.js';
import type { CallStep } from '../mcp/call-step.js';
import type { Result } from '../mcp/results.js';
import { AuditTrail } from './audit-trail.js';

/**
 * The first of CALL_STEPS: whatever the steps after it do with the call (decide, validate, consume, the method), its
 * start is written before and its end after. A call that was aborted ends when its method settles; one that ignores its
 * signal stays open until shutdown cuts it.
 */
@Injectable()
export class AuditInterceptor implements CallStep {
  constructor(private readonly trail: AuditTrail) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const record = this.trail.begin(context.getArgByIndex<McpCall>(0));
    let answered = false;
    return next.handle().pipe(
      tap({
        next: (value) => {
          answered = true;
          record.succeeded(value);
        },
        error: (error: unknown) => record.failed(error),
        complete: () => {
          // Without a value there is no answer either: Nest makes an error of it. Only then is one made here: its stack
          // was a tenth of the CPU of every call.
          if (!answered) record.failed(new EmptyError());
        },
      }),
    );
  }

  async around(call: McpCall, next: () => Promise<Result>): Promise<Result> {
    const record = this.trail.begin(call);
    let result: Result;
    try {
      result = await next();
    } catch (error) {
      record.failed(error);
      throw error;
    }
    record.succeeded(result);
    return result;
  }
}
