import { randomUUID } from 'node:crypto';

/** 32 hexadecimal digits: of a call, or of a refusal that is no call, so that its caller finds it in the audit or the log. */
export const newCorrelationId = (): string => randomUUID().replaceAll('-', '');
