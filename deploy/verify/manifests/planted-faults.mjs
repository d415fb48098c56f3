// @ts-check
/** Mistakes that somebody will make one day. Each is planted in manifests that are right, and must be found. */
import { CONFIG } from './cross-field.mjs';
import { get } from './documents.mjs';

/** @typedef {import('./documents.mjs').Manifest} Manifest */

/** @typedef {(documents: Manifest[]) => unknown} Plant */

/** @param {Manifest[]} documents */
const podOf = (documents) => need(get(documents, 'Deployment').spec?.template.spec);
/** @param {Manifest[]} documents */
const containerOf = (documents) => need(podOf(documents).containers[0]);
/** @param {Manifest[]} documents */
const valuesOf = (documents) => need(get(documents, 'ConfigMap', CONFIG).data);
/** @template T @param {T | undefined} value @returns {T} */
function need(value) {
  if (value === undefined) throw new Error('the manifests no longer have what this fault spoils');
  return value;
}
/** Fields that no model knows. @param {object | undefined} value */
const loose = (value) => /** @type {Record<string, unknown>} */ (need(value));

/** @type {readonly (readonly [string, Plant])[]} */
export const PLANTED_FAULTS = [
  ['a misspelt field of the pod', (all) => (loose(podOf(all))['terminationGracePeriod'] = 30)],
  ['a field one level too high', (all) => (loose(podOf(all))['livenessProbe'] = containerOf(all).livenessProbe)],
  ['a required field left out', (all) => delete loose(containerOf(all))['name']],
  ['a text where a number belongs', (all) => (loose(get(all, 'Deployment').spec)['minReadySeconds'] = '5s')],
  ['a value that the enumeration does not have', (all) => (loose(get(all, 'Service').spec)['type'] = 'ClusterIp')],
  ['a quantity that is none', (all) => (need(containerOf(all).resources?.limits)['memory'] = '256 MB')],
  ['an API version that is gone', (all) => (get(all, 'PodDisruptionBudget').apiVersion = 'policy/v1beta9')],
  [
    'a selector that the pods do not wear',
    (all) => (need(get(all, 'Service').spec?.selector)['app.kubernetes.io/name'] = 'mcp'),
  ],
  ['a mount without its volume', (all) => (need(containerOf(all).volumeMounts?.[0]).name = 'secret')],
  ['a secret file that is not mounted', (all) => (valuesOf(all)['MCP_CORP_POSTGRES__DSN_FILE'] = '/run/secrets/dsn')],
  ['a misspelt setting', (all) => (valuesOf(all)['MCP_CORP_POSTGRES__POOL_SIZE'] = '10')],
  ['a secret written into the ConfigMap', (all) => (valuesOf(all)['MCP_CORP_POSTGRES__DSN'] = 'postgresql://u:p@db/x')],
  ['a grace that SIGKILL beats', (all) => (podOf(all).terminationGracePeriodSeconds = 16)],
  ['liveness that asks /ready', (all) => (need(containerOf(all).livenessProbe?.httpGet).path = '/ready')],
  ['readiness that fails after the drain', (all) => (need(containerOf(all).readinessProbe).failureThreshold = 3)],
  ['a request above its limit', (all) => (need(containerOf(all).resources?.requests)['memory'] = '1Gi')],
  ['service links', (all) => delete podOf(all).enableServiceLinks],
  [
    'a root file system that can be written',
    (all) => (need(containerOf(all).securityContext).readOnlyRootFilesystem = false),
  ],
  ['a user number, which OpenShift refuses', (all) => (need(podOf(all).securityContext).runAsUser = 1000)],
  ['a token of the cluster in the pod', (all) => (podOf(all).automountServiceAccountToken = true)],
  ['an image by a moving tag', (all) => (containerOf(all).image = 'mcp-corp:latest')],
  ['another port than the setting', (all) => (need(containerOf(all).ports?.[0]).containerPort = 8080)],
  ['fixed replicas beside an autoscaler', (all) => (need(get(all, 'Deployment').spec).replicas = 3)],
  [
    'an autoscaler with min above max',
    (all) =>
      (get(all, 'HorizontalPodAutoscaler').spec = {
        ...need(get(all, 'HorizontalPodAutoscaler').spec),
        minReplicas: 9,
      }),
  ],
  [
    'more replicas than the ceilings were divided by',
    (all) => (need(get(all, 'HorizontalPodAutoscaler').spec).maxReplicas = 12),
  ],
  [
    'a budget that blocks every drain of a node',
    (all) => (need(get(all, 'PodDisruptionBudget').spec).maxUnavailable = 0),
  ],
  [
    'a policy that lets everybody in',
    (all) => (need(get(all, 'NetworkPolicy').spec).ingress = [{ ports: [{ protocol: 'TCP', port: 8000 }] }]),
  ],
  ['a policy that shuts the database out', (all) => need(get(all, 'NetworkPolicy').spec?.egress).pop()],
  ['a policy that is not mounted', (all) => (valuesOf(all)['MCP_CORP_GOVERNANCE__POLICY'] = '/etc/policy.yaml')],
  ['the mode without a policy', (all) => delete valuesOf(all)['MCP_CORP_GOVERNANCE__POLICY']],
  ['a policy under the mode open', (all) => (valuesOf(all)['MCP_CORP_GOVERNANCE__MODE'] = 'open')],
  [
    "a caller's key that is not mounted",
    (all) => need(podOf(all).volumes?.find(({ name }) => name === 'callers')?.secret?.items).pop(),
  ],
  ['a secret in what is applied', (all) => all.push(SECRET)],
  [
    'a monitor that asks a port which nobody opens',
    (all) => (need(get(all, 'ServiceMonitor').spec.endpoints[0]).port = 'http-metrics'),
  ],
];

/** @type {Manifest} */
const SECRET = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mcp-corp-secrets' } };

/** For OpenShift only. @type {readonly (readonly [string, Plant])[]} */
export const PLANTED_IN_ROUTE = [
  ['a Route that publishes the whole host', (all) => (get(all, 'Route').spec.path = '/')],
  [
    'a Route with the default timeout',
    (all) => delete get(all, 'Route').metadata.annotations?.['haproxy.router.openshift.io/timeout'],
  ],
  ['a misspelt field of the Route', (all) => (loose(get(all, 'Route').spec.tls)['insecurePolicy'] = 'Redirect')],
];

/** For the other clusters only. @type {readonly (readonly [string, Plant])[]} */
export const PLANTED_IN_INGRESS = [
  [
    'an Ingress that publishes everything below a prefix',
    (all) => (need(get(all, 'Ingress').spec?.rules?.[0]?.http?.paths[0]).pathType = 'Prefix'),
  ],
  [
    'an Ingress that publishes /diagnostics',
    (all) => (need(get(all, 'Ingress').spec?.rules?.[0]?.http?.paths[0]).path = '/diagnostics'),
  ],
  ['an Ingress without TLS', (all) => delete need(get(all, 'Ingress').spec).tls],
  [
    'a host that is set in one place only',
    (all) => (need(get(all, 'Ingress').spec?.rules?.[0]).host = 'mcp-corp.example.com'),
  ],
];
