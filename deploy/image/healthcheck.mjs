// @ts-check
/**
 * HEALTHCHECK of the image: whether the process answers on the port and interface that it was told to use. `/health`, never
 * `/ready`: an engine that kills what is unhealthy must not kill a replica that is starting or draining.
 */
import { get } from 'node:http';

/** Shorter than the timeout of HEALTHCHECK, so that the exit code says it. Milliseconds. */
const TIMEOUT_MS = 5000;

const { MCP_CORP_HOST: interface_ = '', MCP_CORP_PORT: port = '' } = process.env;
const everywhere = ['', '0.0.0.0', '::'].includes(interface_);

const request = get(
  { host: everywhere ? '127.0.0.1' : interface_, port: port || 8000, path: '/health', timeout: TIMEOUT_MS },
  (response) => process.exit(response.statusCode === 200 ? 0 : 1),
);
request.on('timeout', () => request.destroy(new Error('no answer')));
request.on('error', () => process.exit(1));
