import { CallError } from '../mcp/errors.js';
import { ConnectorError } from '../sources/source-errors.js';

/** The source's answer; where the source could not give one, the CallError with its code and the text of this datum. */
export async function answerOr<T>(unavailable: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const { code, retryAfterSeconds } = error;
    throw new CallError(
      code,
      unavailable,
      retryAfterSeconds === undefined ? {} : { data: { retry_after_seconds: retryAfterSeconds } },
    );
  }
}
