// @ts-check
/** The manifests as typed objects. */
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

/**
 * @typedef {{ apiVersion: string, kind: string, metadata: { name: string, labels?: Record<string, string>, annotations?: Record<string, string> } }} Manifest
 *
 * @typedef {Manifest & { spec: { host: string, path: string, port: { targetPort: string }, tls: { termination: string,
 *   insecureEdgeTerminationPolicy: string }, to: { kind: string, name: string, weight: number }, wildcardPolicy: string } }} Route
 * @typedef {Manifest & { spec: { selector: { matchLabels: Record<string, string> },
 *   endpoints: { port: string, path: string, interval: string, scrapeTimeout: string }[] } }} ServiceMonitor
 *
 * @typedef {import('@kubernetes/client-node').V1Deployment} Deployment
 * @typedef {import('@kubernetes/client-node').V1ConfigMap} ConfigMap
 * @typedef {import('@kubernetes/client-node').V1Service} Service
 * @typedef {import('@kubernetes/client-node').V1NetworkPolicy} NetworkPolicy
 * @typedef {import('@kubernetes/client-node').V1PodDisruptionBudget} PodDisruptionBudget
 * @typedef {import('@kubernetes/client-node').V1Ingress} Ingress
 * @typedef {import('@kubernetes/client-node').V2HorizontalPodAutoscaler} HorizontalPodAutoscaler
 *
 * @typedef {{ Deployment: Deployment, ConfigMap: ConfigMap, Service: Service, NetworkPolicy: NetworkPolicy, PodDisruptionBudget: PodDisruptionBudget,
 *   Ingress: Ingress, HorizontalPodAutoscaler: HorizontalPodAutoscaler, Route: Route, ServiceMonitor: ServiceMonitor }} Kinds
 */

/** All documents of a text. Kubernetes reads YAML 1.1 (`0440` is octal). @param {string} text @returns {Manifest[]} */
export function documentsOf(text) {
  return parseAllDocuments(text, { version: '1.1', merge: true }).map((document) => {
    if (document.errors.length > 0) throw new Error(document.errors[0]?.message);
    /** @type {unknown} */
    const plain = document.toJS();
    return /** @type {Manifest} */ (plain);
  });
}

/** @param {string | URL} file */
export const documentsIn = (file) => documentsOf(readFileSync(file, 'utf8'));

/**
 * The one document of a kind, and of a name where that is given; undefined: none. Throws when there are several.
 *
 * @template {keyof Kinds} K @param {readonly Manifest[]} documents @param {K} kind @param {string} [name] @returns {Kinds[K] | undefined}
 */
export function find(documents, kind, name) {
  const found = documents.filter(
    (document) => document.kind === kind && (name === undefined || document.metadata.name === name),
  );
  if (found.length > 1) throw new Error(`${found.length} documents of kind ${kind}`);
  return /** @type {Kinds[K] | undefined} */ (/** @type {unknown} */ (found[0]));
}

/** @template {keyof Kinds} K @param {readonly Manifest[]} documents @param {K} kind @param {string} [name] @returns {Kinds[K]} */
export function get(documents, kind, name) {
  const found = find(documents, kind, name);
  if (found === undefined) throw new Error(`no ${kind}${name === undefined ? '' : ` ${name}`}`);
  return found;
}
