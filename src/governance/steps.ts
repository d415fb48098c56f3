import { Injectable, type CallHandler, type ExecutionContext } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import type { McpCall } from '../mcp/call.js';
import type { CallStep } from '../mcp/call-step.js';
import type { Result } from '../mcp/results.js';
import { Gatekeeper } from './gatekeeper.js';

/** The step `decide` of CALL_STEPS: inside the audit, before the arguments are validated; cuts the result on its way back. */
@Injectable()
export class DecideInterceptor implements CallStep {
  constructor(private readonly gatekeeper: Gatekeeper) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const call = context.getArgByIndex<McpCall>(0);
    await this.gatekeeper.decide(call);
    return next.handle().pipe(map((result: Result) => this.gatekeeper.leaveOut(call, result)));
  }

  async around(call: McpCall, next: () => Promise<Result>): Promise<Result> {
    await this.gatekeeper.decide(call);
    return this.gatekeeper.leaveOut(call, await next());
  }
}

/** The step `consume`: the last before the method, so that a malformed call consumes nothing. */
@Injectable()
export class ConsumeInterceptor implements CallStep {
  constructor(private readonly gatekeeper: Gatekeeper) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.gatekeeper.consume(context.getArgByIndex<McpCall>(0));
    return next.handle();
  }

  async around(call: McpCall, next: () => Promise<Result>): Promise<Result> {
    await this.gatekeeper.consume(call);
    return next();
  }
}
