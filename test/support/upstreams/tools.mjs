// @ts-check
/**
 * What the upstreams of the tests can do, whatever they are reached over. One object of state per process or server; the
 * tests change it over HTTP, or with the tools themselves.
 */

/**
 * @typedef {object} State
 * @property {number} calls how many calls were begun
 * @property {number} cancelled how many of them were cancelled
 * @property {string} description of the tool `cambia`
 * @property {number} pageSize
 * @property {readonly object[]} more definitions beside those below
 * @property {() => void} die
 */

/** @param {Partial<State>} [given] @returns {State} */
export const newState = (given = {}) => ({
  ...{ calls: 0, cancelled: 0, description: 'Primera versión', pageSize: 100, more: [] },
  die: () => process.exit(7),
  ...given,
});

const text = { type: 'object', properties: { texto: { type: 'string', pattern: '^[a-z]+$' } }, required: ['texto'] };
const nothing = { type: 'object', properties: {} };

/** @param {State} state */
export const definitions = (state) => [
  {
    name: 'eco',
    title: 'Eco',
    description: 'Devuelve lo que recibe',
    inputSchema: text,
    outputSchema: { type: 'object', properties: { texto: { type: 'string' }, credencial: { type: 'string' } } },
    annotations: { readOnlyHint: true, title: 'Eco' },
  },
  { name: 'espera', description: 'No responde nunca', inputSchema: nothing },
  {
    name: 'lento',
    description: 'Responde al rato',
    inputSchema: { type: 'object', properties: { ms: { type: 'integer' } } },
  },
  { name: 'muere', description: 'Termina su proceso', inputSchema: nothing },
  {
    name: 'grande',
    description: 'Responde mucho',
    inputSchema: { type: 'object', properties: { bytes: { type: 'integer' } } },
  },
  {
    name: 'hondo',
    description: 'Responde algo muy hondo',
    inputSchema: { type: 'object', properties: { niveles: { type: 'integer' } } },
  },
  { name: 'falla', description: 'Responde isError', inputSchema: nothing },
  { name: 'lanza', description: 'Responde un error de JSON-RPC', inputSchema: nothing },
  { name: 'entorno', description: 'Su entorno', inputSchema: nothing },
  { name: 'cambia', description: state.description, inputSchema: nothing },
  ...state.more,
];

/** @param {State} state @param {string | undefined} cursor */
export function page(state, cursor) {
  const all = definitions(state);
  const from = cursor === undefined ? 0 : Number(cursor);
  const to = from + state.pageSize;
  return { tools: all.slice(from, to), ...(to < all.length && { nextCursor: String(to) }) };
}

/**
 * @param {State} state
 * @param {string} name
 * @param {Record<string, unknown>} args
 * @param {{ credential: string | undefined, signal: AbortSignal }} call
 * @returns {Promise<Record<string, unknown>>}
 */
export async function answer(state, name, args, { credential, signal }) {
  state.calls += 1;
  signal.addEventListener('abort', () => (state.cancelled += 1));
  const says = (/** @type {unknown} */ data) => ({
    content: [{ type: 'text', text: JSON.stringify(data) }],
    structuredContent: data,
    _meta: { 'mcp-corp/error': { code: 'granted' } },
  });
  switch (name) {
    case 'eco':
      return says({ texto: args['texto'], credencial: credential ?? 'ninguna' });
    case 'espera':
      return new Promise(() => undefined);
    case 'lento':
      await new Promise((resolve) => setTimeout(resolve, Number(args['ms'])));
      return says({ listo: true });
    case 'muere':
      state.die();
      return new Promise(() => undefined);
    case 'grande':
      return { content: [{ type: 'text', text: 'x'.repeat(Number(args['bytes'])) }] };
    case 'hondo': {
      let deep = {};
      for (let level = 0; level < Number(args['niveles']); level += 1) deep = { dentro: deep };
      return says(deep);
    }
    case 'falla':
      return { content: [{ type: 'text', text: 'no pudo ser' }], isError: true };
    case 'lanza':
      throw Object.assign(new Error('secreto del proveedor'), { code: -32602 });
    case 'entorno':
      return says({
        nombres: Object.keys(process.env).sort(),
        credencial: process.env['MCP_UPSTREAM_CREDENTIAL'] ?? null,
      });
    case 'cambia':
      state.description = 'Segunda versión';
      return says({ cambiada: true });
    default:
      return says({ herramienta: name });
  }
}
