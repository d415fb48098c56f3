import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { BASE_IMAGE } from '../../../deploy/verify/base-image.mjs';
import { LAST_THINGS_SECONDS } from '../../../deploy/verify/assets.mjs';
import { governable, SECTIONS } from '../../../src/app.module.js';
import { loadSettings } from '../../../src/config/load-settings.js';
import { ServiceSettings } from '../../../src/config/service.settings.js';
import type { Settings } from '../../../src/config/settings.js';
import { loadPolicy } from '../../../src/governance/policy-file/load-policy.js';
import {
  placeholdersOf,
  readStack,
  seconds,
  type StackService,
  UnsetPlaceholderError,
} from '../../support/stack-file.js';

const PRODUCTION = 'deploy/swarm/mcp-corp-stack.yml';
const ROTATION = 'deploy/swarm/audit-key-rotation.yml';
const POLICY = 'deploy/swarm/policy.yml';
const DEMO = 'deploy/swarm/docker-compose.yml';
const STUB = 'deploy/swarm/saldo-api-stub-stack.yml';
const DEVELOPMENT = 'docker-compose.dev.yml';

const SHELL = { IMAGE: 'mcp-corp:2.0.0', PUBLIC_HOST: 'mcp-corp.example.com', AUDIT_HMAC_SECRET: 'k'.repeat(64) };
const SECRETS: Record<string, string> = {
  '/run/secrets/audit_hmac_secret': 'k'.repeat(64),
  '/run/secrets/audit_hmac_secret_previous': 'p'.repeat(64),
  '/run/secrets/diagnostics_token': 't'.repeat(48),
  '/run/secrets/metrics_token': 'm'.repeat(48),
  '/run/secrets/postgres_dsn': 'postgresql://mcp_corp:x@postgres:5432/mcp_corp?sslmode=disable',
};

function serviceOf(file: string, name: string, shell: Record<string, string> = SHELL): StackService {
  const service = readStack(file, shell).services[name];
  if (service === undefined) throw new Error(`no service ${name}`);
  return service;
}

/** The settings that the server would have with this environment; throws what stops its start. */
const settingsOf = (environment: Readonly<Record<string, string>>): Settings =>
  loadSettings(environment, SECTIONS, {
    readFile: (file) => {
      const text = SECRETS[file];
      if (text === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
      return Buffer.from(text);
    },
  });

const stack = serviceOf(PRODUCTION, 'mcp-corp');
const labels = stack.deploy?.labels ?? {};

describe.each([PRODUCTION, ROTATION, POLICY, DEMO, STUB])('the placeholders of %s', (file) => {
  it('have texts that Docker cannot take for a default: it looks for - before it looks for :?', () => {
    const texts = [...readFileSync(file, 'utf8').matchAll(/\$\{\w+:\?([^}]*)\}/g)].map(([, text]) => text ?? '');
    expect(texts.filter((text) => /[-:?]/.test(text))).toEqual([]);
  });
});

describe('the stack for production', () => {
  it.each(['IMAGE', 'PUBLIC_HOST'])('refuses to be deployed without %s', (name) => {
    expect(placeholdersOf(PRODUCTION)).toEqual(['IMAGE', 'PUBLIC_HOST']);
    expect(() => readStack(PRODUCTION, { ...SHELL, [name]: '' })).toThrow(UnsetPlaceholderError);
  });

  it('starts the server in production, first with the database only, then with the balance API', () => {
    expect(settingsOf(stack.environment ?? {}).get(ServiceSettings).environment).toBe('production');
    expect(stack.environment).toMatchObject({
      MCP_CORP_POSTGRES__ENABLED: 'true',
      MCP_CORP_SALDO_API__ENABLED: 'false',
    });
    const shell = { ...SHELL, SALDO_API_ENABLED: 'true' };
    expect(() => settingsOf(serviceOf(PRODUCTION, 'mcp-corp', shell).environment ?? {})).toThrow();
    const whole = { ...shell, SALDO_API_BASE_URL: 'http://saldo-api-stub:8080' };
    expect(() => settingsOf(serviceOf(PRODUCTION, 'mcp-corp', whole).environment ?? {})).not.toThrow();
  });

  it('writes down the governance mode and the waiver of the internal network', () => {
    expect(stack.environment).toMatchObject({
      MCP_CORP_GOVERNANCE__MODE: 'open',
      MCP_CORP_POSTGRES__ALLOW_PLAINTEXT: 'true',
      MCP_CORP_SALDO_API__ALLOW_PLAINTEXT: 'true',
    });
  });

  it('takes its secrets as files of external secrets, readable for group 0 only, and none in the environment', () => {
    const { secrets = {} } = readStack(PRODUCTION, SHELL);
    const files = Object.entries(stack.environment ?? {}).filter(([name]) => name.endsWith('_FILE'));
    expect(files.map(([, file]) => path.basename(file)).sort()).toEqual(
      stack.secrets?.map(({ target }) => target).sort(),
    );
    for (const mount of stack.secrets ?? []) {
      expect(mount).toMatchObject({ uid: '0', gid: '0', mode: 0o440 });
      expect(secrets[mount.source]?.external).toBe(true);
      expect(secrets[mount.source]?.name).toMatch(/_1$/);
    }
    expect(Object.keys(stack.environment ?? {})).not.toContain('MCP_CORP_AUDIT_HMAC_SECRET');
    expect(Object.keys(stack.environment ?? {})).not.toContain('MCP_CORP_POSTGRES__DSN');
  });

  it('holds the tasks on a read-only root, without capabilities, in limited memory and CPU, with bounded logs', () => {
    expect(stack).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    expect(stack.deploy?.resources).toMatchObject({
      limits: { cpus: '0.5', memory: '512M' },
      reservations: { memory: '256M' },
    });
    expect(stack.logging).toEqual({ driver: 'json-file', options: { 'max-size': '10m', 'max-file': '3' } });
    expect(stack.ports).toBeUndefined();
  });

  it('never gives a replica up, and waits between two attempts', () => {
    expect(stack.deploy?.restart_policy).toEqual({ condition: 'any', delay: '5s' });
  });

  it('updates one by one, the new replica first, and rolls back by itself', () => {
    expect(stack.deploy?.update_config).toMatchObject({
      parallelism: 1,
      order: 'start-first',
      failure_action: 'rollback',
    });
    expect(stack.deploy?.rollback_config).toMatchObject({ parallelism: 1, order: 'start-first' });
  });

  it('has its ceilings divided by all replicas and the one of an update', () => {
    expect(Number(stack.environment?.['MCP_CORP_REPLICAS'])).toBeGreaterThan(stack.deploy?.replicas ?? Infinity);
  });
});

describe('the rotation of the audit key', () => {
  it('adds the previous key to the stack, as a file that the server reads', () => {
    expect(placeholdersOf(ROTATION)).toEqual(['AUDIT_SECRET_PREVIOUS']);
    const added = serviceOf(ROTATION, 'mcp-corp', { AUDIT_SECRET_PREVIOUS: 'mcp_corp_audit_hmac_secret_1' });
    expect(() => settingsOf({ ...stack.environment, ...added.environment })).not.toThrow();
    const [mount] = added.secrets ?? [];
    expect(`/run/secrets/${mount?.target}`).toBe(added.environment?.['MCP_CORP_AUDIT_HMAC_SECRET_PREVIOUS_FILE']);
    expect(mount).toMatchObject({ gid: '0', mode: 0o440 });
  });
});

describe('the policy on top of the stack', () => {
  const shell = { POLICY_CONFIG: 'mcp_corp_policy_1' };
  const added = serviceOf(POLICY, 'mcp-corp', shell);
  const example = 'deploy/swarm/policy.example.yaml';

  it('is a config with a number, where the server looks for it, readable for group 0', () => {
    expect(placeholdersOf(POLICY)).toEqual(['POLICY_CONFIG']);
    expect(() => settingsOf({ ...stack.environment, ...added.environment })).not.toThrow();
    expect(added.configs).toMatchObject([
      { target: added.environment?.['MCP_CORP_GOVERNANCE__POLICY'], gid: '0', mode: 0o440 },
    ]);
    expect(readStack(POLICY, shell).configs?.[added.configs?.[0]?.source ?? '']).toEqual({
      external: true,
      name: shell.POLICY_CONFIG,
    });
  });

  it('is not forgotten unnoticed: the mode without it stops the start', () => {
    const { environment = {} } = serviceOf(PRODUCTION, 'mcp-corp', { ...SHELL, GOVERNANCE_MODE: 'policy' });
    expect(environment['MCP_CORP_GOVERNANCE__MODE']).toBe('policy');
    expect(() => settingsOf(environment)).toThrow();
    expect(() => settingsOf({ ...environment, ...added.environment })).not.toThrow();
  });

  it('brings, with the stack, every secret that the example names', () => {
    const named = [...readFileSync(example, 'utf8').matchAll(/file:\/\/\/run\/secrets\/(\w+)/g)].map(
      ([, name]) => name,
    );
    const mounted = [...(stack.secrets ?? []), ...(added.secrets ?? [])].map(({ target }) => target);
    expect(named.length).toBeGreaterThan(1);
    expect(mounted).toEqual(expect.arrayContaining(named));
  });

  it('has an example without a single finding, for a server that is to serve it', () => {
    const text = readFileSync(example, 'utf8');
    expect(loadPolicy(text, { catalogue: { local: governable() }, purpose: 'serve' }).diagnostics).toEqual([]);
  });
});

describe.each([
  [PRODUCTION, 'mcp-corp'],
  [DEMO, 'mcp-corp-demo'],
])('the life of a replica in %s', (file, router) => {
  const service = serviceOf(file, 'mcp-corp');
  const value = (name: string) => Number(service.environment?.[name]);
  const check = (name: string) =>
    service.deploy?.labels?.[`traefik.http.services.${router}.loadbalancer.healthcheck.${name}`];

  it('leaves more time to stop than drain, grace and the last records need', () => {
    const needed = value('MCP_CORP_DRAIN_SECONDS') + value('MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS');
    expect(seconds(service.stop_grace_period)).toBeGreaterThanOrEqual(needed + LAST_THINGS_SECONDS);
  });

  it('drains longer than the balancer needs to look away, which asks /ready and waits for a busy replica', () => {
    expect(check('path')).toBe('/ready');
    expect(seconds(check('timeout'))).toBeGreaterThanOrEqual(2);
    expect(seconds(check('interval'))).toBeGreaterThan(seconds(check('timeout')));
    expect(value('MCP_CORP_DRAIN_SECONDS')).toBeGreaterThan(seconds(check('interval')) + seconds(check('timeout')));
  });

  it('leaves HEALTHCHECK to the image', () => {
    expect(service.healthcheck).toBeUndefined();
  });

  it('names the same port to Traefik as to the server', () => {
    expect(service.deploy?.labels?.[`traefik.http.services.${router}.loadbalancer.server.port`]).toBe(
      service.environment?.['MCP_CORP_PORT'],
    );
  });
});

describe('the labels for Traefik', () => {
  /** Parts of the labels that Traefik 2.11 and 3 both have; a misspelt one is ignored by one and refused by the other. */
  const KNOWN = [
    /^traefik\.enable$/,
    /^traefik\.(?:swarm|docker)\.network$/,
    /^traefik\.http\.routers\.[\w-]+\.(?:rule|entrypoints|tls|tls\.certresolver|service|middlewares)$/,
    /^traefik\.http\.middlewares\.[\w-]+\.redirectscheme\.(?:scheme|permanent)$/,
    /^traefik\.http\.services\.[\w-]+\.loadbalancer\.(?:server\.port|healthcheck\.(?:path|interval|timeout))$/,
  ];
  const of = (kind: string, name: string) =>
    Object.fromEntries(
      Object.entries(labels).flatMap(([label, value]) =>
        label.startsWith(`traefik.http.${kind}.${name}.`) ? [[label.split('.').slice(4).join('.'), value]] : [],
      ),
    );

  it.each([PRODUCTION, DEMO])('of %s are texts of a form that both versions have', (file) => {
    for (const [label, value] of Object.entries(serviceOf(file, 'mcp-corp').deploy?.labels ?? {})) {
      expect(KNOWN.some((form) => form.test(label))).toBe(true);
      expect(typeof value).toBe('string');
    }
  });

  it('name the network in both ways, and the service is on it', () => {
    expect(labels['traefik.enable']).toBe('true');
    expect(labels['traefik.swarm.network']).toBe(labels['traefik.docker.network']);
    expect(stack.networks).toContain(labels['traefik.swarm.network']);
    expect(readStack(PRODUCTION, SHELL).networks).toMatchObject({ traefik_public: { external: true } });
  });

  it('publish nothing but /mcp, over HTTPS', () => {
    expect(of('routers', 'mcp-corp')).toEqual({
      rule: 'Host(`mcp-corp.example.com`) && Path(`/mcp`)',
      entrypoints: 'websecure',
      tls: 'true',
      'tls.certresolver': 'letsencrypt',
      service: 'mcp-corp',
    });
    expect(Object.keys(labels).filter((label) => label.endsWith('.rule'))).toHaveLength(2);
  });

  it('send plain HTTP to HTTPS, for good', () => {
    const { middlewares, ...router } = of('routers', 'mcp-corp-redirect');
    expect(router).toEqual({ rule: 'Host(`mcp-corp.example.com`)', entrypoints: 'web', service: 'mcp-corp' });
    expect(of('middlewares', middlewares ?? '')).toEqual({
      'redirectscheme.scheme': 'https',
      'redirectscheme.permanent': 'true',
    });
  });

  it('name the host that the server answers to', () => {
    expect(stack.environment?.['MCP_CORP_HTTP__ALLOWED_HOSTS']).toBe(SHELL.PUBLIC_HOST);
  });
});

describe('the demo stack', () => {
  it('refuses to be deployed without an audit key, and starts with one', () => {
    expect(placeholdersOf(DEMO)).toEqual(['AUDIT_HMAC_SECRET']);
    expect(() => settingsOf(serviceOf(DEMO, 'mcp-corp').environment ?? {})).not.toThrow();
    expect(serviceOf(DEMO, 'mcp-corp').deploy?.labels?.['traefik.http.routers.mcp-corp-demo.rule']).toContain(
      'Path(`/mcp`)',
    );
  });
});

describe.each([
  [STUB, 'saldo-api-stub'],
  [DEVELOPMENT, 'saldo-api'],
])('the balance stub in %s', (file, name) => {
  const service = serviceOf(file, name);

  it('is the one stub of the repository, on the base of the image, with nothing to write to', () => {
    expect(service).toMatchObject({ image: BASE_IMAGE, read_only: true, user: '1000:0' });
    const given = readStack(file, SHELL).configs?.['saldo_api_stub']?.file ?? service.volumes?.[0]?.split(':')[0] ?? '';
    const stub = path.join(path.dirname(file), given);
    expect(path.normalize(stub)).toBe('deploy/dev/saldo-api-stub.mjs');
    expect(existsSync(stub)).toBe(true);
    expect(service.command?.[1]).toBe(service.configs?.[0]?.target ?? service.volumes?.[0]?.split(':')[1]);
  });

  it('is asked for its health where it listens, without a shell', () => {
    const test = service.healthcheck?.test ?? [];
    expect(test.every((word) => typeof word === 'string')).toBe(true);
    expect(test.slice(0, 3)).toEqual(['CMD', 'node', '-e']);
    expect(test[3]).toContain(`http://127.0.0.1:${service.command?.[2]}/health`);
  });
});

describe('the sources of a developer', () => {
  const { services, volumes } = readStack(DEVELOPMENT);
  const example = parseEnv(readFileSync('.env.example', 'utf8'));

  it('listen on this machine only', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).toEqual(['127.0.0.1:5432:5432', '127.0.0.1:8080:8080']);
  });

  it('are what .env.example says', () => {
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = services['postgres']?.environment ?? {};
    expect(example['MCP_CORP_POSTGRES__DSN']).toBe(
      `postgresql://${POSTGRES_USER}:${POSTGRES_PASSWORD}@localhost:5432/${POSTGRES_DB}`,
    );
    expect(example['MCP_CORP_SALDO_API__BASE_URL']).toBe('http://localhost:8080');
  });

  it('hold the one seed, which a new volume reads again', () => {
    const [data = '', seed = ''] = services['postgres']?.volumes ?? [];
    expect(Object.keys(volumes ?? {})).toEqual([data.split(':')[0]]);
    expect(seed.split(':')).toEqual(['./deploy/dev/postgres-seed.sql', '/docker-entrypoint-initdb.d/seed.sql', 'ro']);
    expect(existsSync('deploy/dev/postgres-seed.sql')).toBe(true);
  });
});
