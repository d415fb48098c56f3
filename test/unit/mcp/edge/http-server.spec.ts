import { createServer } from 'node:http';
import { expect, it } from '@jest/globals';
import { limitHttpServer } from '../../../../src/mcp/edge/http-server.js';

it('keeps idle connections longer than balancers do, and no request without an end', () => {
  const server = createServer();
  limitHttpServer(server);
  expect(server.keepAliveTimeout).toBeGreaterThan(60_000);
  expect(server.headersTimeout).toBeGreaterThan(0);
  expect(server.headersTimeout).toBeLessThanOrEqual(server.requestTimeout);
});
