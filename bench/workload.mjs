// @ts-check
/** What every server is asked and must answer, byte for byte in the payload: one customer, or a list of fifty tools. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { DESCRIPTIONS, TITLES } from '../dist/clientes/texts.js';

export const CUSTOMER = Object.freeze({
  cedula: 'V16760320',
  nombre: 'Ana María Restrepo',
  email: 'ana.restrepo@example.com',
  estado: 'activo',
});

const ANNOTATIONS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const CUSTOMER_FIELDS = { cedula: z.string(), nombre: z.string(), email: z.string(), estado: z.string() };

/** @param {string} name @param {string} title @param {string} description */
const tool = (name, title, description) => ({
  name,
  title,
  description,
  input: z.strictObject({ identificador: z.string().max(20).describe(DESCRIPTIONS.identifier) }),
  output: z.strictObject(CUSTOMER_FIELDS),
  annotations: ANNOTATIONS,
});

/** The tools of the peers: as many as the product has, with its texts. */
export const THREE = [
  tool('consultar_cliente', TITLES.consultarCliente, DESCRIPTIONS.consultarCliente),
  tool('consultar_saldo', TITLES.consultarSaldo, DESCRIPTIONS.consultarSaldo),
  tool('resumen_cliente', TITLES.resumenCliente, DESCRIPTIONS.resumenCliente),
];

export const FIFTY = Array.from({ length: 50 }, (_, index) => {
  const number = String(index + 1).padStart(2, '0');
  return tool(`consulta_${number}`, `Consulta ${number}`, DESCRIPTIONS.consultarCliente);
});

/** @param {string} catalogue `three` or `fifty` */
export const toolsOf = (catalogue) => (catalogue === 'fifty' ? FIFTY : THREE);

/** The body of every tool of every peer. */
export const answer = () => ({
  content: [{ type: /** @type {const} */ ('text'), text: JSON.stringify(CUSTOMER) }],
  structuredContent: { ...CUSTOMER },
});

export const LEGACY = '2025-11-25';
export const MODERN = '2026-07-28';

/** @typedef {{ method: 'tools/call' | 'tools/list', era: string }} Question */

const PARAMS = {
  'tools/call': { name: 'consultar_cliente', arguments: { identificador: 'V-16.760.320' } },
  'tools/list': {},
};

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
};

/** The bytes of one HTTP request, as a client of that era sends it. @param {Question} question @param {number} port */
export function requestOf({ method, era }, port) {
  const params = era === MODERN ? { ...PARAMS[method], _meta: ENVELOPE } : PARAMS[method];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
  const modernHeaders =
    method === 'tools/call' ? ['Mcp-Method: tools/call', 'Mcp-Name: consultar_cliente'] : [`Mcp-Method: ${method}`];
  const lines = [
    'POST /mcp HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'User-Agent: bench/1.0.0',
    `MCP-Protocol-Version: ${era}`,
    ...(era === MODERN ? modernHeaders : []),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Bytes that stand in every right answer, whole lists included. @param {Question} question */
export const markOf = ({ method }) =>
  method === 'tools/call' ? '"structuredContent":{"cedula":"V16760320"' : '"consulta_50"';

/** Reads one answer as a client would; throws when it is not the expected one. @param {Question} question @param {string} text */
export function check({ method }, text) {
  const data = /^data: (\{.*\})$/m.exec(text);
  const { result } = JSON.parse(data?.[1] ?? text);
  const right =
    method === 'tools/call'
      ? isDeepStrictEqual(result?.structuredContent, { ...CUSTOMER }) &&
        result.content[0].text === JSON.stringify(CUSTOMER)
      : result?.tools?.length === FIFTY.length && result.tools.every(hasSchemas);
  if (!right) throw new Error(`not the expected answer to ${method}: ${text.slice(0, 400)}`);
}

/** @param {{ inputSchema?: { properties?: object }, outputSchema?: { properties?: object } }} listed */
function hasSchemas({ inputSchema, outputSchema }) {
  return inputSchema?.properties !== undefined && outputSchema?.properties !== undefined;
}
