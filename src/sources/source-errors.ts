/** What a source's client may throw, for those who ask sources and know nothing of how they are protected. */
export {
  CircuitOpenError,
  ConnectorError,
  OperationTimeoutError,
  RateLimitedError,
  RejectedError,
  SaturatedError,
  SourceUnavailableError,
  type ConnectorErrorCode,
} from '../resilience/errors.js';
