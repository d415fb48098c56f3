import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { assetFiles, settingNames, unknownNames } from '../../../deploy/verify/assets.mjs';
import { BASE_IMAGE } from '../../../deploy/verify/base-image.mjs';
import { VERSION } from '../../../deploy/verify/build-image.mjs';
import { CONFIG } from '../../../deploy/verify/manifests/cross-field.mjs';
import { get } from '../../../deploy/verify/manifests/documents.mjs';
import { render } from '../../../deploy/verify/manifests/kustomize.mjs';
import { SECTIONS } from '../../../src/app.module.js';
import { settingsOf } from '../../../src/config/setting.js';
import { all, last, readDockerfile } from '../../support/dockerfile.js';
import { readStack } from '../../support/stack-file.js';

const assets = assetFiles().map((file): [string, string] => [file, readFileSync(file, 'utf8')]);
const SHELL = { IMAGE: `mcp-corp:${VERSION}`, PUBLIC_HOST: 'mcp-corp.example.com', AUDIT_HMAC_SECRET: 'k'.repeat(64) };

const final = readDockerfile('Dockerfile').stages.at(-1)?.instructions ?? [];
const stacks = ['deploy/swarm/mcp-corp-stack.yml', 'deploy/swarm/docker-compose.yml'].map(
  (file) => readStack(file, SHELL).services['mcp-corp'],
);
const manifests = render('deploy/openshift/overlays/openshift');
const container = get(manifests, 'Deployment').spec?.template.spec?.containers[0];
const values = get(manifests, 'ConfigMap', CONFIG).data ?? {};

describe('the names in the assets', () => {
  it('are those of the generated reference, which are those of the settings', () => {
    expect([...settingNames()].sort()).toEqual(
      SECTIONS.flatMap(settingsOf)
        .map(({ variable }) => variable)
        .sort(),
    );
  });

  // The check of the swarm misspells one on purpose.
  it.each(assets.filter(([file]) => !/verify\/(?:swarm|manifests\/planted-faults)\.mjs$/.test(file)))(
    'in %s exist in the settings',
    (_file, text) => {
      expect(unknownNames(text, settingNames())).toEqual([]);
    },
  );

  it('would be found if they did not', () => {
    const known = new Set(['MCP_CORP_PORT', 'MCP_CORP_POSTGRES__DSN']);
    const text = 'MCP_CORP_PORT MCP_CORP_POSTGRES__DSN_FILE MCP_CORP_PROT `MCP_CORP_POSTGRES__DNS_FILE`';
    expect(unknownNames(text, known)).toEqual(['MCP_CORP_PROT', 'MCP_CORP_POSTGRES__DNS_FILE']);
  });

  it('set one port of /metrics: in the stack, and where a monitor of a cluster asks for it', () => {
    const component = readFileSync('deploy/openshift/components/monitoring/kustomization.yaml', 'utf8');
    const port = stacks[0]?.environment?.['MCP_CORP_METRICS__PORT'];
    expect(component).toContain(`path: /data/MCP_CORP_METRICS__PORT\n        value: '${port}'`);
    expect(component).toContain(`containerPort: ${port}`);
  });
});

describe('image references', () => {
  it('name the version of package.json wherever they name one', () => {
    const versions = assets.flatMap(([file, text]) =>
      [...text.matchAll(/\bmcp-corp:(\d[\w.-]*)|newTag: *([\w.-]+)/g)].map(
        ([, tag, newTag]) => `${file} ${tag ?? newTag}`,
      ),
    );
    expect(versions.length).toBeGreaterThan(4);
    expect(versions.filter((version) => !version.endsWith(` ${VERSION}`))).toEqual([]);
  });

  it('never name a moving tag', () => {
    expect(assets.filter(([file, text]) => !file.includes('planted-faults') && /:latest\b/.test(text))).toEqual([]);
  });

  it('name one base', () => {
    const bases = assets.flatMap(([, text]) => [...text.matchAll(/\bnode:\d[\w.-]*/g)].map(([name]) => name));
    expect([...new Set(bases)]).toEqual([BASE_IMAGE]);
  });
});

describe('port, paths and times', () => {
  it('agree on the port: image, stacks, manifests', () => {
    const port = last(final, 'EXPOSE');
    expect(stacks.map((stack) => stack?.environment?.['MCP_CORP_PORT'])).toEqual([port, port]);
    expect(values['MCP_CORP_PORT']).toBe(port);
    expect(String(container?.ports?.[0]?.containerPort)).toBe(port);
    expect(get(manifests, 'Service').spec?.ports?.map((each) => String(each.port))).toEqual([port]);
    expect(readFileSync('deploy/image/healthcheck.mjs', 'utf8')).toContain(`port || ${port}`);
  });

  it('agree that liveness is /health and readiness /ready', () => {
    const probe = readFileSync('deploy/image/healthcheck.mjs', 'utf8');
    expect(probe).toContain("path: '/health'");
    expect(container?.livenessProbe?.httpGet?.path).toBe('/health');
    expect(container?.readinessProbe?.httpGet?.path).toBe('/ready');
  });

  it('agree on drain and grace, and on the time to stop', () => {
    for (const name of [
      'MCP_CORP_DRAIN_SECONDS',
      'MCP_CORP_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS',
      'MCP_CORP_ENVIRONMENT',
    ]) {
      expect(stacks.map((stack) => stack?.environment?.[name])).toEqual([values[name], values[name]]);
    }
    const pod = get(manifests, 'Deployment').spec?.template.spec;
    expect(stacks.map((stack) => stack?.stop_grace_period)).toEqual(
      Array.from({ length: 2 }, () => `${pod?.terminationGracePeriodSeconds}s`),
    );
  });

  it('give HEALTHCHECK more time than the probe takes to give up', () => {
    const timeout = Number(/--timeout=(\d+)s/.exec(last(final, 'HEALTHCHECK'))?.[1]) * 1000;
    const probe = Number(/TIMEOUT_MS = (\d+)/.exec(readFileSync('deploy/image/healthcheck.mjs', 'utf8'))?.[1]);
    expect(probe).toBeLessThan(timeout);
    expect(all(final, 'HEALTHCHECK')).toHaveLength(1);
  });
});
