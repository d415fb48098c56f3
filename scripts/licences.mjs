#!/usr/bin/env node
// @ts-check
/**
 * What is given to others with the image: every production package must have a licence that allows that without conditions
 * on our own code. Also that none needs an install script, since the image is built without them. Exit code 1: something is wrong.
 *
 *   npm run licences
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ALLOWED = new Set([
  'MIT',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'Unlicense',
]);

/**
 * @typedef {{ version?: string, license?: string, dev?: boolean, optional?: boolean, devOptional?: boolean, hasInstallScript?: boolean,
 *   integrity?: string, resolved?: string }} LockedPackage
 * @typedef {Record<string, LockedPackage>} LockedPackages Place in node_modules → package.
 */

/** What is installed by `npm ci --omit=dev --omit=optional`. @param {LockedPackages} packages @returns {[string, LockedPackage][]} */
export const productionPackages = (packages) =>
  Object.entries(packages).filter(
    ([place, { dev, optional, devOptional }]) => place !== '' && !dev && !optional && !devOptional,
  );

/**
 * @param {LockedPackages} packages
 * @param {(place: string) => unknown} manifestOf package.json of an installed package; asked only for those whose licence the lock file does not name
 * @returns {string[]}
 */
export function licenceProblems(packages, manifestOf) {
  return productionPackages(packages).flatMap(([place, { license, hasInstallScript }]) => {
    const name = place.replace(/^.*node_modules\//, '');
    const found = license === undefined ? oldForm(manifestOf(place)) : [license];
    const allowed = found.length > 0 && found.every(isAllowed);
    return [
      ...(allowed ? [] : [`${name}: ${found.join(', ') || 'no licence'}`]),
      ...(hasInstallScript === true ? [`${name}: needs its install script`] : []),
    ];
  });
}

/** `licenses: [{ type }]`, as packages of ten years ago have it. @param {unknown} manifest @returns {string[]} */
function oldForm(manifest) {
  const list =
    typeof manifest === 'object' && manifest !== null && 'licenses' in manifest ? manifest.licenses : undefined;
  if (!Array.isArray(list)) return [];
  return /** @type {unknown[]} */ (list).flatMap((each) =>
    typeof each === 'object' && each !== null && 'type' in each ? [String(each.type)] : [],
  );
}

/** An SPDX expression is allowed when one of its alternatives is. @param {string} expression */
function isAllowed(expression) {
  return expression
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((alternative) => alternative.split(' AND ').every((licence) => ALLOWED.has(licence)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  /** @param {string} path @returns {unknown} */
  const json = (path) => JSON.parse(readFileSync(new URL(path, new URL('..', import.meta.url)), 'utf8'));
  const { packages } = /** @type {{ packages: LockedPackages }} */ (json('package-lock.json'));
  const problems = licenceProblems(packages, (place) => json(`${place}/package.json`));
  for (const problem of problems) console.error(problem);
  console.log(`${productionPackages(packages).length} production packages, ${problems.length} problems`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
