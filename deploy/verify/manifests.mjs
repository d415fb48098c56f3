// @ts-check
/**
 * `npm run verify:manifests`: every overlay, without and with the optional components, rendered and validated without a cluster;
 * then mistakes planted in what was right, each of which must be found. Exit code 1 when anything is wrong.
 *
 *   npm run verify:manifests -- [folder]     another kustomization, such as a site's own overlay; placeholders are then mistakes
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { PLACEHOLDER, settingNames } from './assets.mjs';
import { ROOT, VERSION } from './build-image.mjs';
import { crossFieldProblems } from './manifests/cross-field.mjs';
import { documentsIn } from './manifests/documents.mjs';
import { render, renderWithKubectl } from './manifests/kustomize.mjs';
import { problemsOfModels } from './manifests/models.mjs';
import { PLANTED_FAULTS, PLANTED_IN_INGRESS, PLANTED_IN_ROUTE } from './manifests/planted-faults.mjs';

/** @typedef {import('./manifests/documents.mjs').Manifest} Manifest */

const OVERLAYS = ['openshift', 'kubernetes'];
const COMPONENTS = ['autoscaling', 'monitoring', 'policy'];
const MANIFESTS = path.join(ROOT, 'deploy/openshift');
const facts = { settings: settingNames(), version: VERSION };

let wrong = 0;

/** @param {string} text @param {readonly string[]} problems */
function tell(text, problems) {
  wrong += problems.length;
  console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${text}`);
  for (const problem of problems) console.log(`       ${problem}`);
}

/** @param {readonly Manifest[]} documents */
async function problemsOf(documents) {
  const models = await Promise.all(documents.map((document) => problemsOfModels(document)));
  // A document that is malformed may be one that the other rules cannot read.
  try {
    return [...models.flat(), ...crossFieldProblems(documents, facts)];
  } catch (error) {
    return [...models.flat(), error instanceof Error ? error.message : String(error)];
  }
}

/** @param {string} folder @param {string} title */
async function rendered(folder, title) {
  const theirs = await renderWithKubectl(folder);
  if (theirs === undefined) return render(folder);
  let ours;
  try {
    ours = render(folder);
  } catch (error) {
    // A site's overlay may use what only kubectl knows.
    if (folder.startsWith(MANIFESTS)) throw error;
    return theirs;
  }
  const sorted = (/** @type {Manifest[]} */ documents) =>
    [...documents].sort((a, b) => `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`));
  tell(
    `${title}: kubectl renders the same`,
    isDeepStrictEqual(sorted(theirs), sorted(ours)) ? [] : ['the renderings differ'],
  );
  return theirs;
}

/** An overlay with all components, as an operator would write it. @param {string} overlay */
async function withComponents(overlay) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mcp-corp-overlay-'));
  try {
    const relative = (/** @type {string} */ place) => path.relative(folder, path.join(MANIFESTS, place));
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: [relative(`overlays/${overlay}`)],
      components: COMPONENTS.map((component) => relative(`components/${component}`)),
    };
    writeFileSync(path.join(folder, 'kustomization.yaml'), stringify(kustomization));
    return await rendered(folder, `${overlay} with components`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function ours() {
  for (const example of ['base/secret.example.yaml', 'components/policy/secret.example.yaml']) {
    const problems = await Promise.all(documentsIn(path.join(MANIFESTS, example)).map(problemsOfModels));
    tell(example, problems.flat());
  }
  let [planted, found] = [0, 0];
  for (const overlay of OVERLAYS) {
    const plain = await rendered(path.join(MANIFESTS, 'overlays', overlay), overlay);
    tell(`${overlay}: ${plain.length} documents`, await problemsOf(plain));
    const refused = (await problemsBeforeApplying(plain)).filter((problem) => problem.includes(PLACEHOLDER));
    tell(
      `${overlay}: not ready to be applied as it is (${refused.join()})`,
      refused.length === 1 ? [] : ['the placeholders went unnoticed'],
    );
    const whole = await withComponents(overlay);
    tell(`${overlay} with ${COMPONENTS.join(', ')}: ${whole.length} documents`, await problemsOf(whole));

    const special = overlay === 'openshift' ? PLANTED_IN_ROUTE : PLANTED_IN_INGRESS;
    for (const [name, plant] of [...(overlay === 'openshift' ? PLANTED_FAULTS : []), ...special]) {
      const spoilt = structuredClone(whole);
      plant(spoilt);
      planted += 1;
      const [first] = await problemsOf(spoilt);
      if (first === undefined) tell(`planted: ${name}`, ['nobody noticed']);
      else {
        found += 1;
        tell(`planted: ${name} → ${first.slice(0, 100)}`, []);
      }
    }
  }
  console.log(`${found} of ${planted} planted faults found`);
}

/** What keeps manifests from being applied, beside what is wrong in them. @param {readonly Manifest[]} documents */
async function problemsBeforeApplying(documents) {
  const unset = JSON.stringify(documents).split(PLACEHOLDER).length - 1;
  return [...(await problemsOf(documents)), ...(unset > 0 ? [`${unset} × ${PLACEHOLDER} is still there`] : [])];
}

/** @param {string} folder */
async function somebodys(folder) {
  const documents = await rendered(path.resolve(folder), folder);
  tell(`${folder}: ${documents.length} documents`, await problemsBeforeApplying(documents));
}

const [folder] = process.argv.slice(2);
await (folder === undefined ? ours() : somebodys(folder));
console.log(wrong === 0 ? 'the manifests are valid (offline; no cluster was asked)' : `${wrong} problems`);
process.exitCode = wrong === 0 ? 0 : 1;
