import { afterEach, describe, expect, it } from '@jest/globals';
import { COOLDOWN_MS } from '../../../../src/connectors/account-cooldown.js';
import { HttpConnector } from '../../../../src/connectors/http/http-connector.js';
import { type Account } from '../../../../src/resilience/connector.js';
import { RejectedError } from '../../../../src/resilience/errors.js';
import { startHttpServer, type TestServer } from '../../../support/http-server.js';
import { RecordedLog } from '../support/recorded-log.js';
import { type ApiSettings, apiSettings, failureOf, patient } from './support.js';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const WRONG = 'token-equivocado-sentinela';

/** Refuses one token and lets in every other. */
async function api(
  values: Partial<ApiSettings> = {},
): Promise<{ server: TestServer; connector: HttpConnector; log: RecordedLog; time: { now: number } }> {
  const server = await startHttpServer((request, response) => {
    const wrong = JSON.stringify(request.headers).includes(WRONG);
    response.writeHead(wrong ? 401 : 200).end('{}');
  });
  const time = { now: 0 };
  const log = new RecordedLog();
  const connector = new HttpConnector({
    name: 'api',
    settings: apiSettings(server.url, values),
    log,
    clock: { now: () => time.now, after: () => () => undefined },
  });
  closing.push(
    () => server.close(),
    () => connector.close(),
  );
  return { server, connector, log, time };
}

const account = (secret: string, epoch = secret): Account => ({ key: 'cajero', secret: { epoch, secret } });
const ask = (connector: HttpConnector, who?: Account) =>
  connector.run((exchange) => exchange.getJson(['cosas']), { ...patient(), account: who });

describe('an account at an HTTP API', () => {
  it("sends its own bearer token instead of the source's, which goes on being the source's", async () => {
    const { server, connector } = await api({ bearerToken: 'de-la-fuente' });
    await ask(connector, account('del-cajero'));
    await ask(connector);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer del-cajero',
      'Bearer de-la-fuente',
    ]);
  });

  it('sends an API key where the source takes one', async () => {
    const { server, connector } = await api({ apiKey: 'de-la-fuente', apiKeyHeader: 'X-Clave' });
    await ask(connector, account('del-cajero'));
    expect(server.requests[0]?.headers).toMatchObject({ 'x-clave': 'del-cajero' });
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('is refused alone, and not tried again until it has cooled down or its secret is another one', async () => {
    const { server, connector, log, time } = await api();
    const error = await failureOf(ask(connector, account(WRONG)));
    expect(connector.classify(error)).toEqual({ kind: 'rejected' });
    expect(await failureOf(ask(connector, account(WRONG)))).toBeInstanceOf(RejectedError);
    expect(server.requests).toHaveLength(1);
    await ask(connector);
    await ask(connector, account('bueno'));
    time.now += COOLDOWN_MS;
    expect(await failureOf(ask(connector, account(WRONG)))).not.toBeInstanceOf(RejectedError);
    expect(server.requests).toHaveLength(4);
    expect(JSON.stringify(log.lines)).not.toContain('sentinela');
  });

  it('cannot send what no header can carry, and what it was is not said', async () => {
    const { server, connector } = await api();
    const error = await failureOf(ask(connector, account('sentinela\r\nX-Otra: 1')));
    expect(connector.classify(error)).toEqual({ kind: 'rejected' });
    expect(String((error as Error).stack)).not.toContain('sentinela');
    expect(server.requests).toEqual([]);
  });

  it("without a credential of the agreed form is a programming error, never the source's own credential", async () => {
    const { server, connector } = await api({ bearerToken: 'de-la-fuente' });
    const error = await failureOf(ask(connector, { key: 'maria', secret: 'x' }));
    expect(connector.classify(error)).toEqual({ kind: 'bug' });
    expect(server.requests).toEqual([]);
  });
});
