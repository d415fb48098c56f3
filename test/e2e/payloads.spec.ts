import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ERAS, type McpClient } from '../support/mcp-clients.js';
import { ServerProcess } from '../support/server-process.js';
import { createWorld, type World } from '../support/world.js';

const ANA = { cedula: 'V16760320', nombre: 'Ana María Restrepo', email: 'ana.restrepo@example.com', estado: 'activo' };
const LUCIA = { cedula: 'V16760322', nombre: 'Lucía Fernanda Ríos', email: 'lucia.rios@example.com', estado: 'activo' };
const ERROR_SIMULADO = {
  cedula: 'V90000001',
  nombre: 'Cliente Error Simulado',
  email: 'error.simulado@example.com',
  estado: 'activo',
};
const SALDO_DE_ANA = { cedula: 'V16760320', saldo: 1500000.5, moneda: 'COP' };

const available = (datos: object) => ({ disponible: true, datos, motivo: null });
const missing = (motivo: string) => ({ disponible: false, datos: null, motivo });

/** Tool, identifier as the user writes it, payload of spec §5.4 and §5.5. */
const SUCCESSES: [string, string, object][] = [
  ['consultar_cliente', 'V-16.760.320', ANA],
  ['consultar_saldo', '16760320', SALDO_DE_ANA],
  [
    'resumen_cliente',
    'v16.760.320',
    { identificador: 'V16760320', cliente: available(ANA), saldo: available(SALDO_DE_ANA), resumen_completo: true },
  ],
  [
    'resumen_cliente',
    'V16760322',
    {
      identificador: 'V16760322',
      cliente: available(LUCIA),
      saldo: missing('no hay saldo registrado para ese identificador'),
      resumen_completo: false,
    },
  ],
  [
    'resumen_cliente',
    'V90000001',
    {
      identificador: 'V90000001',
      cliente: available(ERROR_SIMULADO),
      saldo: missing('el servicio de saldos no está disponible en este momento'),
      resumen_completo: false,
    },
  ],
  [
    'resumen_cliente',
    'E-99999',
    {
      identificador: 'E00099999',
      cliente: missing('no existe un cliente registrado con ese identificador'),
      saldo: missing('no hay saldo registrado para ese identificador'),
      resumen_completo: false,
    },
  ],
];

const BAD_FORMAT =
  'El identificador no tiene un formato reconocido. Verifica que sea una cédula o RIF venezolano (con o sin puntos, guiones o letra de prefijo).';
const BAD_CHECK_DIGIT = 'El dígito verificador del identificador no es válido. Revisa que el RIF esté bien tipeado.';

/** Tool, identifier, text of spec §5.6, code. */
const REFUSALS: [string, unknown, string, string][] = [
  ['consultar_cliente', 'abc', BAD_FORMAT, 'invalid_identifier'],
  ['consultar_saldo', 'I16760320', BAD_FORMAT, 'invalid_identifier'],
  ['resumen_cliente', 'V-16760320-9', BAD_CHECK_DIGIT, 'invalid_check_digit'],
  ['consultar_cliente', 'V1', 'No se encontró ningún cliente con el identificador V00000001.', 'not_found'],
  ['consultar_saldo', 'V-16.760.322', 'No se encontró saldo registrado para el identificador V16760322.', 'not_found'],
  [
    'consultar_saldo',
    'V90000001',
    'El servicio de saldos no está disponible en este momento. Intenta de nuevo en unos segundos.',
    'unavailable',
  ],
  [
    'consultar_cliente',
    16760320,
    'Los argumentos no son válidos: revisa el nombre y el tipo de cada uno.',
    'invalid_arguments',
  ],
  [
    'consultar_cliente',
    'V'.padEnd(21, '1'),
    'Los argumentos no son válidos: revisa el nombre y el tipo de cada uno.',
    'invalid_arguments',
  ],
];

let world: World;
let server: ServerProcess;
beforeAll(async () => {
  world = await createWorld();
  server = await ServerProcess.ready(world.env);
});
afterAll(async () => {
  await server.stop();
  await world[Symbol.asyncDispose]();
});

describe.each(ERAS)('over %s', (_era, connect) => {
  let client: McpClient;
  beforeAll(async () => {
    client = await connect(`${server.url}/mcp`);
  });
  afterAll(() => client.close());

  it('names the service and the version of the package', () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'mcp-corp', version: '2.0.0' });
  });

  it.each(SUCCESSES)('%s(%s) gives the payload of the spec, byte for byte', async (name, identificador, payload) => {
    const result = await client.callTool({ name, arguments: { identificador } });

    expect(result.isError ?? false).toBe(false);
    expect(result.content.map(({ type, text }) => [type, text])).toEqual([['text', JSON.stringify(payload)]]);
    expect(JSON.stringify(result.structuredContent)).toBe(JSON.stringify(payload));
  });

  it.each(REFUSALS)('%s(%j) is a tool error: %s', async (name, identificador, text, code) => {
    const result = await client.callTool({ name, arguments: { identificador } });

    expect(result.isError).toBe(true);
    expect(result.content).toEqual([{ type: 'text', text }]);
    expect(result.structuredContent).toBeUndefined();
    expect(result._meta?.['mcp-corp/error']).toMatchObject({ code });
  });

  it('refuses an unknown tool as a protocol error', async () => {
    await expect(client.callTool({ name: 'borrar_cliente', arguments: {} })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("Unknown tool: 'borrar_cliente'"),
    });
  });

  it('reads the catalogue of states', async () => {
    const { contents } = await client.readResource({ uri: 'data://clientes/estados' });

    expect(contents).toEqual([
      {
        uri: 'data://clientes/estados',
        mimeType: 'application/json',
        text: JSON.stringify({
          activo: 'El cliente está al día; puede operar sin restricciones.',
          moroso: 'El cliente tiene obligaciones vencidas; algunas operaciones pueden estar restringidas.',
          inactivo: 'El cliente no tiene actividad reciente; puede requerir reactivación antes de operar.',
        }),
      },
    ]);
  });

  it.each(['identificador', 'cedula'])('renders the prompt with its argument called %s', async (argument) => {
    const { messages } = await client.getPrompt({
      name: 'atencion_cliente',
      arguments: { [argument]: 'V-16.760.320' },
    });

    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatchObject({ role: 'user', content: { type: 'text' } });
    const text = messages[0]?.content.text ?? '';
    for (const part of ['V-16.760.320', '1.', '2.', '3.', '4.', 'cliente.disponible', 'saldo.disponible', 'motivo']) {
      expect(text).toContain(part);
    }
  });
});

it('touches no source for an identifier that is none', async () => {
  const saldos = () => world.stub.requests.filter(({ path }) => path.startsWith('/saldos/'));
  const client = await ERAS[0][1](`${server.url}/mcp`);
  const asked = saldos().length;
  await client.callTool({ name: 'resumen_cliente', arguments: { identificador: 'Z-123' } });
  await client.close();

  expect(saldos()).toHaveLength(asked);
  const record = () =>
    server
      .events('tool_invocation_completed')
      .find(({ tool, reason }) => tool === 'resumen_cliente' && reason === 'invalid_identifier');
  await server.until(() => record() !== undefined);
  expect(record()).toMatchObject({ result: 'failure', sources: [], identifier: null });
});
