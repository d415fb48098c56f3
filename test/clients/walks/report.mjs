/**
 * What a client of the field did with the server, in its own words. Each walk is a program of its own, so that every
 * client runs as it does for its users, and prints one of these.
 * @typedef {object} Walk
 * @property {string[]} tools Names of the tools it listed.
 * @property {unknown} called Data that it got from `resumen_cliente`.
 * @property {string | null} read Text of the resource; null when the client cannot read resources.
 * @property {string | null} prompt Text of the prompt; null when the client cannot get prompts.
 */

export const TOOL = 'resumen_cliente';
export const ARGUMENTS = { identificador: 'V-16.760.320' };
export const RESOURCE = 'data://clientes/estados';
export const PROMPT = 'atencion_cliente';

/** URL of the endpoint. */
export const url = process.argv[2] ?? '';

/** @param {Walk} walk */
export function report(walk) {
  process.stdout.write(JSON.stringify(walk));
}

/**
 * A package of this folder. Not by a literal name: the project is checked where these packages are not installed.
 * @param {string} name @returns {Promise<any>}
 */
export function load(name) {
  return import(name);
}
