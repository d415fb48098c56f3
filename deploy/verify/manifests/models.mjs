// @ts-check
/**
 * Two sets of models, because each misses what the other sees: those of the official client know every field at any depth, the
 * others know what is required, the enumerations and the form of quantities.
 */
import * as client from '@kubernetes/client-node';

/** @typedef {import('./documents.mjs').Manifest} Manifest */

/** @typedef {{ name: string, baseName: string, type: string }} Attribute */

/** @type {Record<string, (value: unknown) => boolean>} */
const PRIMITIVES = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  any: () => true,
  object: (value) => typeof value === 'object',
  Date: () => true,
  IntOrString: (value) => ['string', 'number'].includes(typeof value),
};

/** Kinds that neither set knows: every field that we use, `?` where it may be missing. */
const OWN_MODELS = {
  'route.openshift.io/v1/Route': {
    spec: {
      host: 'string',
      path: 'string?',
      port: { targetPort: 'string' },
      tls: { termination: 'string', insecureEdgeTerminationPolicy: 'string?' },
      to: { kind: 'string', name: 'string', weight: 'number?' },
      wildcardPolicy: 'string?',
    },
  },
  'monitoring.coreos.com/v1/ServiceMonitor': {
    spec: {
      selector: { matchLabels: 'object' },
      endpoints: [{ port: 'string', path: 'string?', interval: 'string?', scrapeTimeout: 'string?' }],
    },
  },
};

/** @param {Manifest} document @returns {Promise<string[]>} */
export async function problemsOfModels(document) {
  const { apiVersion, kind } = document;
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const own = new Map(Object.entries(OWN_MODELS)).get(`${apiVersion}/${kind}`);
  if (own !== undefined)
    return against({ apiVersion: 'string', kind: 'string', metadata: 'object', ...own }, document, kind);

  const name = `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
  const attributes = attributesOf(name);
  if (attributes === undefined) return [`${kind}: no model for ${apiVersion}`];
  const problems = unknownFields(name, document, kind);
  /** @type {unknown} */
  const module = await import(`kubernetes-models/${group === '' ? '' : `${group}/`}${version}`);
  const models = /** @type {Record<string, new (data: unknown) => { validate(): void }>} */ (module);
  const Model = models[kind];
  if (Model === undefined) return [...problems, `${kind}: no model for ${apiVersion}`];
  try {
    new Model(structuredClone(document)).validate();
  } catch (error) {
    problems.push(`${kind}: ${error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error)}`);
  }
  return problems;
}

/** @param {string} type @returns {Attribute[] | undefined} */
function attributesOf(type) {
  const known = /** @type {Record<string, { getAttributeTypeMap?: () => Attribute[] } | undefined>} */ (
    /** @type {unknown} */ (client)
  );
  return known[type]?.getAttributeTypeMap?.();
}

/** @param {string} type @param {unknown} value @param {string} where @returns {string[]} */
function unknownFields(type, value, where) {
  if (value === null || value === undefined) return [];
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return [`${where}: must be a list`];
    return value.flatMap((each, index) => unknownFields(list, each, `${where}[${index}]`));
  }
  const inner = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (inner !== undefined) {
    if (typeof value !== 'object') return [`${where}: must be a map`];
    return Object.entries(value).flatMap(([key, each]) => unknownFields(inner, each, `${where}.${key}`));
  }
  const primitive = PRIMITIVES[type];
  if (primitive !== undefined) return primitive(value) ? [] : [`${where}: must be ${type}`];
  const attributes = attributesOf(type);
  if (attributes === undefined) return [];
  if (typeof value !== 'object' || Array.isArray(value)) return [`${where}: must be ${type}`];
  const known = new Map(attributes.map(({ baseName, type: inside }) => [baseName, inside]));
  return Object.entries(value).flatMap(([key, each]) => {
    const inside = known.get(key);
    return inside === undefined ? [`${where}: unknown field ${key}`] : unknownFields(inside, each, `${where}.${key}`);
  });
}

/** @param {unknown} model @param {unknown} value @param {string} where @returns {string[]} */
function against(model, value, where) {
  if (typeof model === 'string') {
    if (value === undefined) return model.endsWith('?') ? [] : [`${where}: is missing`];
    return typeof value === model.replace('?', '') ? [] : [`${where}: must be ${model.replace('?', '')}`];
  }
  if (Array.isArray(model)) {
    if (!Array.isArray(value)) return [`${where}: must be a list`];
    return value.flatMap((each, index) => against(model[0], each, `${where}[${index}]`));
  }
  if (typeof value !== 'object' || value === null) return [`${where}: is missing`];
  const shape = /** @type {Record<string, unknown>} */ (model);
  const unknown = Object.keys(value).filter((key) => !(key in shape));
  return [
    ...unknown.map((key) => `${where}: unknown field ${key}`),
    ...Object.entries(shape).flatMap(([key, inside]) =>
      against(inside, /** @type {Record<string, unknown>} */ (value)[key], `${where}.${key}`),
    ),
  ];
}
