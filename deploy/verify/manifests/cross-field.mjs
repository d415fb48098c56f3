// @ts-check
/** What no model of one field can see: that the manifests fit each other, the image, and the life of the process. */
import { LAST_THINGS_SECONDS, PLACEHOLDER, unknownNames } from '../assets.mjs';
import { find, get } from './documents.mjs';

/** @typedef {import('./documents.mjs').Manifest} Manifest */

/**
 * @typedef {object} Facts
 * @property {ReadonlySet<string>} settings Names of all settings.
 * @property {string} version of package.json
 */

/** A stream lives longer than any default; one that is quiet for an hour has no one at its end. Seconds. */
const LEAST_STREAM_SECONDS = 600;

/** The ConfigMap of the settings. */
export const CONFIG = 'mcp-corp-config';

const UNPUBLISHED = ['/diagnostics', '/metrics', '/health', '/ready'];

/** @param {readonly Manifest[]} documents @param {Facts} facts @returns {string[]} */
export function crossFieldProblems(documents, facts) {
  return [
    ...identities(documents),
    ...labels(documents),
    ...settings(documents, facts),
    ...life(documents),
    ...probes(documents),
    ...confinement(documents),
    ...resources(documents),
    ...secrets(documents),
    ...policy(documents),
    ...image(documents, facts),
    ...numbers(documents),
    ...wayIn(documents),
    ...network(documents),
    ...monitoring(documents),
  ];
}

/** @param {readonly Manifest[]} documents */
function container(documents) {
  const found = get(documents, 'Deployment').spec?.template.spec?.containers[0];
  if (found === undefined) throw new Error('the Deployment has no container');
  return found;
}

/** @param {readonly Manifest[]} documents */
const pod = (documents) => get(documents, 'Deployment').spec?.template;

/** @param {readonly Manifest[]} documents */
const values = (documents) => get(documents, 'ConfigMap', CONFIG).data ?? {};

/** @param {readonly (string | false | undefined)[]} problems @returns {string[]} */
const only = (problems) => problems.filter((problem) => typeof problem === 'string');

/** @param {Record<string, string> | undefined} selector @param {Record<string, string> | undefined} worn */
function selects(selector, worn) {
  const wanted = Object.entries(selector ?? {});
  return wanted.length > 0 && wanted.every(([name, value]) => worn?.[name] === value);
}

/** @param {readonly Manifest[]} documents */
function identities(documents) {
  const names = documents.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  return names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${name} is there twice`);
}

/** @param {readonly Manifest[]} documents */
function labels(documents) {
  const worn = pod(documents)?.metadata?.labels;
  const budget = get(documents, 'PodDisruptionBudget').spec;
  const spread = pod(documents)?.spec?.topologySpreadConstraints ?? [];
  return only([
    !selects(get(documents, 'Deployment').spec?.selector.matchLabels, worn) &&
      'the Deployment does not select its own pods',
    !selects(get(documents, 'Service').spec?.selector, worn) && 'the Service selects no pod of ours',
    !selects(budget?.selector?.matchLabels, worn) && 'the PodDisruptionBudget selects no pod of ours',
    budget?.maxUnavailable !== 1 && 'the PodDisruptionBudget must allow exactly one pod to be away',
    !selects(get(documents, 'NetworkPolicy').spec?.podSelector?.matchLabels, worn) &&
      'the NetworkPolicy selects no pod of ours',
    spread.length === 0 && 'the pods are not spread over nodes',
    ...spread.map(
      ({ labelSelector }) => !selects(labelSelector?.matchLabels, worn) && 'a topology spread counts no pod of ours',
    ),
  ]);
}

/** @param {readonly Manifest[]} documents @param {Facts} facts */
function settings(documents, { settings: known }) {
  const map = get(documents, 'ConfigMap', CONFIG);
  const sources = container(documents).envFrom ?? [];
  const inline = (container(documents).env ?? []).map(({ name }) => name);
  const text = [...Object.keys(values(documents)), ...inline].join(' ');
  return only([
    ...unknownNames(text, known).map((name) => `${name} is no setting`),
    ...Object.entries(values(documents)).map(([name, value]) => typeof value !== 'string' && `${name} must be a text`),
    ...sources.map(
      ({ configMapRef }) =>
        configMapRef?.name !== map.metadata?.name && `there is no ConfigMap ${configMapRef?.name ?? ''}`,
    ),
    sources.length === 0 && 'the pods do not read the ConfigMap',
    values(documents)['MCP_CORP_ENVIRONMENT'] !== 'production' && 'the environment must be production',
    values(documents)['MCP_CORP_GOVERNANCE__MODE'] === undefined && 'the governance mode must be written down',
    pod(documents)?.spec?.enableServiceLinks !== false &&
      'enableServiceLinks must be false: a Service mcp-corp injects MCP_CORP_PORT',
  ]);
}

/** @param {readonly Manifest[]} documents @param {string} name */
const seconds = (documents, name) => Number(values(documents)[name] ?? NaN);

/** @param {readonly Manifest[]} documents */
function life(documents) {
  const drain = seconds(documents, 'MCP_CORP_DRAIN_SECONDS');
  const grace = seconds(documents, 'MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS');
  const termination = pod(documents)?.spec?.terminationGracePeriodSeconds ?? 30;
  const { periodSeconds = 10, failureThreshold = 3 } = container(documents).readinessProbe ?? {};
  const strategy = get(documents, 'Deployment').spec?.strategy?.rollingUpdate;
  return only([
    !(termination >= drain + grace + LAST_THINGS_SECONDS) &&
      `terminationGracePeriodSeconds must be at least drain + grace + ${LAST_THINGS_SECONDS}`,
    !(drain > periodSeconds * failureThreshold) && 'readiness must fail within the drain',
    container(documents).lifecycle !== undefined && 'no preStop: the process drains itself',
    (strategy?.maxUnavailable !== 0 || strategy.maxSurge !== 1) &&
      'an update must start one new pod before it stops one',
  ]);
}

/** @param {readonly Manifest[]} documents */
function probes(documents) {
  const { startupProbe, livenessProbe, readinessProbe, ports = [] } = container(documents);
  const named = new Set(ports.map(({ name }) => name));
  /** @type {[string, import('@kubernetes/client-node').V1Probe | undefined, string][]} */
  const wanted = [
    ['startup', startupProbe, '/health'],
    ['liveness', livenessProbe, '/health'],
    ['readiness', readinessProbe, '/ready'],
  ];
  return [
    ...wanted.flatMap(([name, probe, path]) =>
      only([
        probe?.httpGet?.path !== path && `the ${name} probe must ask ${path}`,
        !named.has(String(probe?.httpGet?.port)) && `the ${name} probe asks a port that the container does not name`,
        (probe?.timeoutSeconds ?? 1) < 2 && `the ${name} probe must wait at least 2 s: a busy pod answers late`,
      ]),
    ),
    ...only([
      String(ports.find(({ name }) => name === 'http')?.containerPort) !== values(documents)['MCP_CORP_PORT'] &&
        'the port http is not MCP_CORP_PORT',
    ]),
  ];
}

/** @param {readonly Manifest[]} documents */
function confinement(documents) {
  const spec = pod(documents)?.spec;
  const outer = spec?.securityContext;
  const inner = container(documents).securityContext;
  return only([
    spec?.automountServiceAccountToken !== false && 'automountServiceAccountToken must be false',
    (spec?.hostNetwork || spec?.hostPID || spec?.hostIPC) === true && 'nothing of the host may be shared',
    outer?.runAsNonRoot !== true && 'runAsNonRoot must be true',
    (outer?.runAsUser ?? inner?.runAsUser) !== undefined &&
      'no runAsUser: OpenShift gives its own, the image has a number',
    outer?.seccompProfile?.type !== 'RuntimeDefault' && 'the seccomp profile must be RuntimeDefault',
    inner?.allowPrivilegeEscalation !== false && 'allowPrivilegeEscalation must be false',
    inner?.readOnlyRootFilesystem !== true && 'the root file system must be read-only',
    inner?.privileged === true && 'no privileged container',
    (inner?.capabilities?.drop?.includes('ALL') !== true || inner.capabilities.add !== undefined) &&
      'all capabilities must be dropped',
  ]);
}

/** @param {readonly Manifest[]} documents */
function resources(documents) {
  const { limits = {}, requests = {} } = container(documents).resources ?? {};
  return ['cpu', 'memory'].flatMap((name) =>
    only([
      limits[name] === undefined && `no limit of ${name}`,
      requests[name] === undefined && `no request of ${name}`,
      quantity(requests[name]) > quantity(limits[name]) && `the request of ${name} is above its limit`,
    ]),
  );
}

/** @type {Record<string, number>} */
const UNITS = { m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

/** @param {string | undefined} text */
function quantity(text) {
  const [, number = '', unit = ''] = /^([\d.]+)(\w*)$/.exec(text ?? '') ?? [];
  return Number(number) * (UNITS[unit] ?? NaN);
}

/** Where files of secrets are in the pod. @param {readonly Manifest[]} documents */
function secretFiles(documents) {
  const volumes = pod(documents)?.spec?.volumes ?? [];
  return (container(documents).volumeMounts ?? []).flatMap(({ name, mountPath }) =>
    (volumes.find((volume) => volume.name === name)?.secret?.items ?? []).map(({ path }) => `${mountPath}/${path}`),
  );
}

/** The mode, the file that it needs, and the files that this one names. @param {readonly Manifest[]} documents */
function policy(documents) {
  const { MCP_CORP_GOVERNANCE__MODE: mode, MCP_CORP_GOVERNANCE__POLICY: place = '' } = values(documents);
  if (mode !== 'policy') return only([place !== '' && 'a policy without the mode that serves it is not looked at']);
  // From the web or from git it is nobody's to mount.
  if (!place.startsWith('/')) return only([place === '' && 'the governance mode policy needs a policy']);
  const volumes = pod(documents)?.spec?.volumes ?? [];
  const text = (container(documents).volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const map = volumes.find((volume) => volume.name === name)?.configMap;
    const item = map?.items?.find(({ path }) => `${mountPath}/${path}` === place);
    if (item === undefined) return [];
    return find(documents, 'ConfigMap', map?.name ?? '')?.data?.[item.key] ?? [];
  })[0];
  if (text === undefined) return [`MCP_CORP_GOVERNANCE__POLICY names ${place}, which no ConfigMap has`];
  const files = secretFiles(documents);
  return [...text.matchAll(/file:\/\/(\/[\w./-]+)/g)].flatMap(([, file = '']) =>
    files.includes(file) ? [] : [`the policy names the file ${file}, which is not mounted`],
  );
}

/** @param {readonly Manifest[]} documents */
function secrets(documents) {
  const volumes = pod(documents)?.spec?.volumes ?? [];
  const mounts = container(documents).volumeMounts ?? [];
  const files = secretFiles(documents);
  const named = Object.entries(values(documents)).filter(([name]) => name.endsWith('_FILE'));
  return only([
    ...mounts.map(({ name }) => !volumes.some((volume) => volume.name === name) && `there is no volume ${name}`),
    ...volumes.map(
      ({ name }) => !mounts.some((mount) => mount.name === name) && `the volume ${name} is mounted nowhere`,
    ),
    ...volumes.map(
      ({ name, secret, configMap }) =>
        (secret ?? configMap)?.defaultMode !== 0o440 &&
        `the files of ${name} must be readable by their group and nobody else`,
    ),
    ...named.map(([name, file]) => !files.includes(file) && `${name} names a file that is not mounted`),
    ...documents.map(({ kind }) => kind === 'Secret' && 'a secret must not come out of a kustomization'),
    ...['MCP_CORP_AUDIT_HMAC_SECRET', 'MCP_CORP_POSTGRES__DSN', 'MCP_CORP_SALDO_API__BEARER_TOKEN'].map(
      (name) => name in values(documents) && `${name} must come from a file`,
    ),
  ]);
}

/** @param {readonly Manifest[]} documents @param {Facts} facts */
function image(documents, { version }) {
  const tag = /:([^/:@]+)(?:@sha256:[0-9a-f]{64})?$/.exec(container(documents).image ?? '')?.[1];
  return only([tag !== version && `the image must have the tag ${version}`]);
}

/** @param {readonly Manifest[]} documents */
function numbers(documents) {
  const deployment = get(documents, 'Deployment');
  const scaler = find(documents, 'HorizontalPodAutoscaler')?.spec;
  const fixed = deployment.spec?.replicas;
  const surge = Number(deployment.spec?.strategy?.rollingUpdate?.maxSurge ?? 1);
  const most = Math.max(fixed ?? 0, scaler?.maxReplicas ?? 0) + surge;
  const target = scaler?.scaleTargetRef;
  return only([
    scaler === undefined && (fixed ?? 1) < 2 && 'one replica is none while it is updated: at least 2',
    scaler !== undefined && fixed !== undefined && 'an autoscaler and fixed replicas contradict each other',
    scaler !== undefined && (scaler.minReplicas ?? 1) > scaler.maxReplicas && 'minReplicas is above maxReplicas',
    scaler !== undefined && (scaler.minReplicas ?? 1) < 2 && 'minReplicas must be at least 2',
    target !== undefined &&
      (target.kind !== 'Deployment' || target.name !== deployment.metadata?.name) &&
      'the autoscaler scales something else',
    !(seconds(documents, 'MCP_CORP_REPLICAS') >= most) &&
      `MCP_CORP_REPLICAS must be at least ${most}: all replicas and the surge`,
  ]);
}

/** @param {readonly Manifest[]} documents */
function wayIn(documents) {
  const route = find(documents, 'Route');
  const ingress = find(documents, 'Ingress');
  const service = get(documents, 'Service');
  const ports = new Map((service.spec?.ports ?? []).map((port) => [port.name, port]));
  const named = new Set((container(documents).ports ?? []).map(({ name }) => name));
  /** @type {(string | false | undefined)[]} */
  const problems = [
    ...[...ports.values()].map(
      ({ targetPort }) =>
        !named.has(String(targetPort)) && `the Service leads to a port ${targetPort} that the container does not name`,
    ),
    (route === undefined) === (ingress === undefined) && 'there must be a Route or an Ingress, not both',
  ];
  /** @type {string[]} */
  const hosts = [];
  if (route !== undefined) {
    hosts.push(route.spec.host);
    problems.push(
      ...published([route.spec.path]),
      route.spec.to.name !== service.metadata?.name && 'the Route leads to another Service',
      !named.has(route.spec.port.targetPort) && 'the Route leads to a port that nobody names',
      (route.spec.tls.termination !== 'edge' || route.spec.tls.insecureEdgeTerminationPolicy !== 'Redirect') &&
        'the Route must end TLS and redirect to it',
      !(duration(route.metadata.annotations?.['haproxy.router.openshift.io/timeout']) >= LEAST_STREAM_SECONDS) &&
        'the timeout of the Route is too short for streams',
    );
  }
  if (ingress !== undefined) {
    const { annotations = {} } = ingress.metadata ?? {};
    const rules = ingress.spec?.rules ?? [];
    const paths = rules.flatMap(({ http }) => http?.paths ?? []);
    hosts.push(...rules.map(({ host = '' }) => host), ...(ingress.spec?.tls ?? []).flatMap((each) => each.hosts ?? []));
    problems.push(
      ...published(paths.map(({ path = '/' }) => path)),
      paths.some(({ pathType }) => pathType !== 'Exact') && 'the Ingress must publish exactly one path',
      ...paths.map(
        ({ backend }) => backend.service?.name !== service.metadata?.name && 'the Ingress leads to another Service',
      ),
      ...paths.map(
        ({ backend }) =>
          !ports.has(backend.service?.port?.name) && 'the Ingress leads to a port that the Service does not name',
      ),
      (ingress.spec?.tls ?? []).length === 0 && 'the Ingress has no TLS',
      ingress.spec?.ingressClassName === undefined && 'the Ingress names no class',
      ...['read', 'send'].map(
        (way) =>
          !(Number(annotations[`nginx.ingress.kubernetes.io/proxy-${way}-timeout`]) >= LEAST_STREAM_SECONDS) &&
          `the ${way} timeout of the Ingress is too short for streams`,
      ),
    );
  }
  const allowed = values(documents)['MCP_CORP_HTTP__ALLOWED_HOSTS'] ?? '';
  const unset = (/** @type {string} */ text) => text.includes(PLACEHOLDER);
  problems.push(
    ...hosts.map((host) => unset(host) !== unset(allowed) && 'the host is set in one place and not in the other'),
    ...hosts.map(
      (host) =>
        !unset(host) && !allowed.split(',').includes(host) && 'MCP_CORP_HTTP__ALLOWED_HOSTS does not list the host',
    ),
  );
  return [...new Set(only(problems))];
}

/** @param {readonly string[]} paths */
function published(paths) {
  return paths.flatMap((path) => [
    path !== '/mcp' && `${path} is published: only /mcp may be`,
    ...UNPUBLISHED.map((route) => route.startsWith(path.replace(/\/$/, '')) && `${route} is published`),
  ]);
}

/** @param {string | undefined} text such as 90s, 10m, 1h */
function duration(text) {
  const [, number = '', unit = ''] = /^(\d+)([smh])$/.exec(text ?? '') ?? [];
  return Number(number || NaN) * ({ s: 1, m: 60, h: 3600 }[unit] ?? NaN);
}

/** @param {readonly Manifest[]} documents */
function network(documents) {
  const spec = get(documents, 'NetworkPolicy').spec;
  const into = spec?.ingress ?? [];
  // The client's models call it `_from`.
  const callers = /** @type {readonly { from?: unknown[] }[]} */ (/** @type {unknown} */ (into));
  const out = (spec?.egress ?? []).flatMap(({ ports = [] }) => ports.map(({ port }) => Number(port)));
  const base = URL.parse(values(documents)['MCP_CORP_SALDO_API__BASE_URL'] ?? '');
  const api = base === null ? NaN : Number(base.port || (base.protocol === 'https:' ? 443 : 80));
  const http = Number(values(documents)['MCP_CORP_PORT']);
  return only([
    !['Ingress', 'Egress'].every((type) => spec?.policyTypes?.includes(type)) &&
      'the NetworkPolicy must govern both ways',
    !into.some(({ ports = [] }) => ports.some(({ port }) => port === http)) &&
      'the NetworkPolicy lets nobody in to the port of the server',
    callers.some(({ from = [] }) => from.length === 0) && 'the NetworkPolicy lets everybody in',
    ...[53, 5432, api].map(
      (port) => !out.includes(port) && `the NetworkPolicy does not let the pods out to port ${port}`,
    ),
    (spec?.egress ?? []).some(({ ports = [] }) => ports.length === 0) &&
      'the NetworkPolicy lets the pods out to everything',
  ]);
}

/** @param {readonly Manifest[]} documents */
function monitoring(documents) {
  const monitor = find(documents, 'ServiceMonitor');
  if (monitor === undefined) return [];
  const service = get(documents, 'Service');
  const ports = (service.spec?.ports ?? []).map(({ name }) => name);
  const port = container(documents).ports?.find(({ name }) => name === 'metrics')?.containerPort;
  const opened = (get(documents, 'NetworkPolicy').spec?.ingress ?? []).some(({ ports: open = [] }) =>
    open.some((each) => each.port === port),
  );
  return only([
    !selects(monitor.spec.selector.matchLabels, service.metadata?.labels) &&
      'the ServiceMonitor selects another Service',
    ...monitor.spec.endpoints.map(
      (endpoint) => !ports.includes(endpoint.port) && 'the ServiceMonitor asks a port that the Service does not name',
    ),
    ...monitor.spec.endpoints.map(({ path }) => path !== '/metrics' && 'the ServiceMonitor must ask /metrics'),
    port === Number(values(documents)['MCP_CORP_PORT']) && '/metrics must have a port of its own',
    !opened && 'the NetworkPolicy does not let the monitoring in',
  ]);
}
