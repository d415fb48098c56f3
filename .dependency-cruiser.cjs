// The import map of the design, as rules. A folder may import itself, `logging`, `config`, and what is listed here.
const map = {
  logging: [],
  config: [],
  identifiers: [],
  'governance/core': [],
  resilience: [],
  connectors: ['resilience'],
  sources: ['connectors', 'resilience', 'identifiers'],
  mcp: [],
  audit: ['mcp'],
  clientes: ['sources', 'identifiers', 'mcp'],
  governance: ['governance/core', 'mcp', 'connectors', 'resilience'],
  health: ['connectors'],
  observability: ['connectors', 'resilience', 'mcp'],
  cli: ['governance', 'governance/core'],
};
// `mcp-corp serve` starts the process as main.ts does, and dry runs ask the composition what the product has: two files of
// the root, and no others (not serve.ts, not app.module.ts: `run` is the one door).
const ROOT_OF = { cli: ['node-version.ts', 'run.ts', 'stop-signal.ts'] };
const PURE = ['identifiers', 'governance/core'];
const LEAVES = ['logging', 'config', ...PURE];

/** Folder of src/, where governance/core is a folder of its own. */
const folder = (name) => (name === 'governance' ? '^src/governance/(?!core/)' : `^src/${name}/`);

const walk = Object.entries(map).map(([name, allowed]) => {
  const reach = [name, ...allowed, ...(LEAVES.includes(name) ? [] : ['logging', 'config'])];
  return {
    name: `walk-${name.replace('/', '-')}`,
    severity: 'error',
    comment: `${name} may import only: ${[...reach, ...(ROOT_OF[name] ?? [])].join(', ')}`,
    from: { path: folder(name) },
    to: {
      path: '^src/',
      pathNot: [...reach.map(folder), ...(ROOT_OF[name] ?? []).map((file) => `^src/${file.replace('.', '\\.')}$`)],
    },
  };
});

const only = (name, packages, where) => ({
  name: `only-${name}`,
  severity: 'error',
  from: { path: '^src/', pathNot: where },
  to: { path: `^node_modules/(@types/)?(${packages})(/|$)` },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Cycles break ESM decorators at start.',
      from: {},
      to: { circular: true },
    },
    ...walk,
    ...PURE.map((name) => ({
      name: `pure-${name.replace('/', '-')}`,
      severity: 'error',
      comment: `${name} imports nothing but itself: no Nest, no node:*, no package.`,
      from: { path: folder(name) },
      to: { pathNot: [folder(name)] },
    })),
    {
      name: 'nobody-imports-the-root',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: '^src/cli/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'product-not-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts|deploy|bench)/' },
    },
    only('pg', 'pg', ['^src/connectors/postgres']),
    only('kysely', 'kysely', ['^src/connectors/postgres', '^src/sources/']),
    only('axios', 'axios', ['^src/connectors/http']),
    only('mcp-sdk', '@modelcontextprotocol', ['^src/mcp/protocol/', '^src/connectors/mcp']),
    {
      name: 'v1-never-serves',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^node_modules/@modelcontextprotocol/sdk/' },
    },
    {
      name: 'declared-dependencies',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'],
        dependencyTypesNot: ['type-only'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
