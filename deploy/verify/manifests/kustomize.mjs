// @ts-check
/**
 * What `kubectl kustomize` makes of our kustomizations, for machines without kubectl: resources, components, JSON patches and
 * images, and nothing else. Anything that it does not know is an error, never passed over; where kubectl is present its
 * output and ours are compared.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { attempt } from '../commands.mjs';
import { documentsIn, documentsOf } from './documents.mjs';

/** @typedef {import('./documents.mjs').Manifest} Manifest */

/**
 * @typedef {{ op: string, path: string, value?: unknown }} Operation
 * @typedef {{ target: { kind: string, name: string }, patch: string }} Patch
 * @typedef {{ name: string, newName?: string, newTag?: string }} Image
 * @typedef {{ apiVersion?: string, kind?: string, resources?: string[], components?: string[], patches?: Patch[], images?: Image[] }} Kustomization
 */

const KNOWN = new Set(['apiVersion', 'kind', 'resources', 'components', 'patches', 'images']);

/** undefined: there is no kubectl here. @param {string} folder @returns {Promise<Manifest[] | undefined>} */
export async function renderWithKubectl(folder) {
  const ended = await attempt('kubectl', ['kustomize', folder]).catch(() => undefined);
  if (ended === undefined) return undefined;
  if (ended.code !== 0) throw new Error(`kubectl kustomize: ${ended.stderr}`);
  return documentsOf(ended.stdout);
}

/** @param {string} folder @returns {Manifest[]} */
export function render(folder) {
  return apply(folder, []);
}

/** @param {string} folder @param {Manifest[]} before what a component is put on @returns {Manifest[]} */
function apply(folder, before) {
  const file = path.join(folder, 'kustomization.yaml');
  /** @type {unknown} */
  const text = parse(readFileSync(file, 'utf8'));
  const kustomization = /** @type {Kustomization} */ (text);
  const unknown = Object.keys(kustomization).filter((key) => !KNOWN.has(key));
  if (unknown.length > 0) throw new Error(`${file}: this renderer does not know ${unknown.join(', ')}`);

  let documents = [...before];
  for (const resource of kustomization.resources ?? []) {
    const place = path.join(folder, resource);
    if (!existsSync(place)) throw new Error(`${file}: no ${resource}`);
    documents.push(...(statSync(place).isDirectory() ? render(place) : documentsIn(place)));
  }
  for (const component of kustomization.components ?? []) documents = apply(path.join(folder, component), documents);
  for (const patch of kustomization.patches ?? []) patchOne(documents, patch, file);
  for (const image of kustomization.images ?? []) for (const document of documents) rename(document, image);
  return documents;
}

/** @param {Manifest[]} documents @param {Patch} patch @param {string} file */
function patchOne(documents, { target, patch, ...rest }, file) {
  if (Object.keys(rest).length > 0)
    throw new Error(`${file}: this renderer does not know ${Object.keys(rest).join(', ')}`);
  const hit = documents.filter(({ kind, metadata }) => kind === target.kind && metadata.name === target.name);
  if (hit.length !== 1)
    throw new Error(`${file}: a patch for ${target.kind} ${target.name} meets ${hit.length} documents`);
  const operations = /** @type {unknown} */ (parse(patch, { version: '1.1' }));
  if (!Array.isArray(operations)) throw new Error(`${file}: only JSON patches are known to this renderer`);
  for (const operation of /** @type {Operation[]} */ (operations))
    operate(/** @type {Manifest} */ (hit[0]), operation, file);
}

/** RFC 6902, as far as add, replace and remove. @param {object} document @param {Operation} operation @param {string} file */
function operate(document, { op, path: pointer, value }, file) {
  const steps = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = steps.pop() ?? '';
  /** @type {unknown} */
  let place = document;
  for (const step of steps) place = /** @type {Record<string, unknown>} */ (place)?.[step];
  if (typeof place !== 'object' || place === null) throw new Error(`${file}: nothing at ${pointer}`);
  if (Array.isArray(place)) {
    const index = last === '-' ? place.length : Number(last);
    if (op === 'add') return void place.splice(index, 0, value);
    if (index >= place.length) throw new Error(`${file}: nothing at ${pointer}`);
    if (op === 'replace') return void (place[index] = value);
    if (op === 'remove') return void place.splice(index, 1);
  } else {
    const object = /** @type {Record<string, unknown>} */ (place);
    if (op !== 'add' && !(last in object)) throw new Error(`${file}: nothing at ${pointer}`);
    if (op === 'add' || op === 'replace') return void (object[last] = value);
    if (op === 'remove') return void delete object[last];
  }
  throw new Error(`${file}: this renderer does not know the operation ${op}`);
}

/** @param {unknown} node @param {Image} image */
function rename(node, image) {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (key === 'image' && typeof value === 'string') {
      const [, name = '', tag = ''] = /^(.*?)(?::([^/:]*))?$/.exec(value) ?? [];
      if (name === image.name) {
        /** @type {Record<string, unknown>} */ (node)[key] = `${image.newName ?? name}:${image.newTag ?? tag}`;
      }
    } else rename(value, image);
  }
}
