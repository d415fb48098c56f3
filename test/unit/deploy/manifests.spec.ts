import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PLACEHOLDER } from '../../../deploy/verify/assets.mjs';
import { CONFIG } from '../../../deploy/verify/manifests/cross-field.mjs';
import { documentsIn, get } from '../../../deploy/verify/manifests/documents.mjs';
import { render } from '../../../deploy/verify/manifests/kustomize.mjs';
import { governable, SECTIONS } from '../../../src/app.module.js';
import { loadSettings } from '../../../src/config/load-settings.js';
import { ConfigurationError } from '../../../src/config/problem.js';
import { loadPolicy } from '../../../src/governance/policy-file/load-policy.js';

interface Ended {
  readonly code: number;
  readonly out: string;
}

/** As `npm run verify:manifests` runs it, in a process of its own: the models are large. */
const verify = (): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, ['deploy/verify/manifests.mjs'], (_error, out) =>
      resolve({ code: child.exitCode ?? -1, out }),
    );
  });

const OVERLAYS = ['openshift', 'kubernetes'];
const files: Record<string, string> = {
  audit_hmac_secret: 'k'.repeat(64),
  diagnostics_token: 't'.repeat(48),
  postgres_dsn: 'postgresql://mcp_corp:x@database:5432/mcp_corp?sslmode=disable',
};

/** Variables with a problem; none: the server would start. */
function problemsOf(data: Readonly<Record<string, string>>, secrets: Readonly<Record<string, string>>): string[] {
  try {
    loadSettings(data, SECTIONS, { readFile: (file) => Buffer.from(secrets[path.basename(file)] ?? '') });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(({ variable }) => variable);
  }
}

describe('npm run verify:manifests', () => {
  it('finds nothing wrong in the manifests, and every planted fault', async () => {
    const { code, out } = await verify();
    const [, found, planted] = /^(\d+) of (\d+) planted faults found$/m.exec(out) ?? [];
    expect(Number(planted)).toBeGreaterThanOrEqual(25);
    expect(found).toBe(planted);
    // As shipped neither overlay may be applied.
    expect(
      out.match(new RegExp(`not ready to be applied as it is \\(\\d+ × ${PLACEHOLDER} is still there\\)`, 'g')),
    ).toHaveLength(2);
    expect(out).not.toContain('FAIL');
    expect(code).toBe(0);
  });
});

describe('our rendering', () => {
  it('refuses what it does not know instead of passing it over', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'mcp-corp-kustomize-'));
    try {
      const write = (text: string) => writeFileSync(path.join(folder, 'kustomization.yaml'), text);
      write('namePrefix: a-\n');
      expect(() => render(folder)).toThrow('does not know namePrefix');
      write('resources: [missing.yaml]\n');
      expect(() => render(folder)).toThrow('no missing.yaml');
      write('patches: [{ target: { kind: Service, name: a }, patch: "[]" }]\n');
      expect(() => render(folder)).toThrow('meets 0 documents');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe.each(OVERLAYS)('the settings of the overlay %s', (overlay) => {
  const data = get(render(`deploy/openshift/overlays/${overlay}`), 'ConfigMap', CONFIG).data ?? {};
  const host = 'MCP_CORP_HTTP__ALLOWED_HOSTS';

  it('are refused by the server as long as the placeholder stands', () => {
    expect(problemsOf(data, files)).toEqual([host]);
  });

  it('start it in production once the host is written', () => {
    expect(problemsOf({ ...data, [host]: 'mcp-corp.example.com' }, files)).toEqual([]);
  });

  it('are refused with the secret of the example', () => {
    const example = documentsIn('deploy/openshift/base/secret.example.yaml')[0] as unknown as {
      stringData: Record<string, string>;
    };
    expect(Object.keys(example.stringData).sort()).toEqual(Object.keys(files).sort());
    expect(problemsOf({ ...data, [host]: 'mcp-corp.example.com' }, example.stringData).sort()).toEqual([
      'MCP_CORP_AUDIT_HMAC_SECRET',
      'MCP_CORP_DIAGNOSTICS__TOKEN',
      'MCP_CORP_POSTGRES__DSN',
    ]);
  });
});

describe('the policy', () => {
  const [map] = documentsIn('deploy/openshift/components/policy/policy.yaml') as unknown as [
    { data: Record<string, string> },
  ];
  const text = map.data['policy.yaml'] ?? '';

  it('is the one of the stack, but for the places of its secrets, and without a single finding', () => {
    const places = (policy: string) => policy.replaceAll(/file:\/\/\/[\w./-]+/g, 'file:///');
    expect(places(text)).toBe(places(readFileSync('deploy/swarm/policy.example.yaml', 'utf8')));
    expect(loadPolicy(text, { catalogue: { local: governable() }, purpose: 'serve' }).diagnostics).toEqual([]);
  });
});

describe('the way in', () => {
  /** DNS-1123, which clusters ask of a host. */
  const HOST = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

  it('has a placeholder for its host that every cluster refuses', () => {
    expect(get(render('deploy/openshift/overlays/openshift'), 'Route').spec.host).not.toMatch(HOST);
    const ingress = get(render('deploy/openshift/overlays/kubernetes'), 'Ingress');
    expect(ingress.spec?.rules?.[0]?.host).not.toMatch(HOST);
  });

  it('has a placeholder for its image that no node can pull', () => {
    for (const overlay of OVERLAYS) {
      const image = get(render(`deploy/openshift/overlays/${overlay}`), 'Deployment').spec?.template.spec?.containers[0]
        ?.image;
      // The name of a repository has no capitals.
      expect(image).toMatch(/^REPLACE_ME\/mcp-corp:/);
    }
  });

  it.each([
    ['overlays/openshift/route.yaml', 'path: /mcp'],
    ['overlays/kubernetes/ingress.yaml', '- path: /mcp\n            pathType: Exact'],
  ])('publishes /mcp only in %s', (file, text) => {
    expect(readFileSync(`deploy/openshift/${file}`, 'utf8')).toContain(text);
  });
});
