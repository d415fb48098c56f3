/**
 * The declared catalogue (spec §2.11): what upstreams have, written down, so that a start, a dry run and a pipeline need no
 * network. Law: a file that cannot be understood is a failure, never an empty list.
 */
import { stringify } from 'yaml';
import { DIGEST, digestOf, toolDefinition } from '../../connectors/mcp/tool-definition.js';
import { isRecord } from '../../mcp/json-schema.js';
import { readYaml } from '../policy-file/yaml-text.js';
import { loadText } from '../served-policy.js';
import { upstreamTool, type UpstreamTool, type UpstreamTools } from './upstream-tools.js';

/** The message says which entry and what is wrong with it, and nothing of its content. */
export class DeclaredCatalogueError extends Error {
  override readonly name = 'DeclaredCatalogueError';
}

/** Rejects with a PolicyUnreachableError or a DeclaredCatalogueError. */
export const loadDeclaredCatalogue = async (path: string): Promise<UpstreamTools> =>
  declaredCatalogue(await loadText(path));

export function declaredCatalogue(text: string): UpstreamTools {
  const reading = readYaml(text);
  if (!reading.ok) {
    const [problem] = reading.problems;
    throw new DeclaredCatalogueError(`line ${problem?.position?.line ?? 1}: ${problem?.message}`);
  }
  const { value } = reading;
  if (!isRecord(value) || value['version'] !== 1) throw new DeclaredCatalogueError('version must be 1');
  if (!Array.isArray(value['tools'])) throw new DeclaredCatalogueError('tools must be a list');
  const found = new Map<string, Map<string, UpstreamTool>>();
  for (const [index, raw] of (value['tools'] as unknown[]).entries()) {
    const { upstream, tool } = entry(raw, `tools[${index}]`);
    const known = found.get(upstream) ?? new Map<string, UpstreamTool>();
    if (known.has(tool.definition.name)) throw new DeclaredCatalogueError(`tools[${index}]: its name is there twice`);
    found.set(upstream, known.set(tool.definition.name, tool));
  }
  return new Map([...found].map(([upstream, tools]) => [upstream, [...tools.values()]]));
}

function entry(raw: unknown, at: string): { readonly upstream: string; readonly tool: UpstreamTool } {
  if (!isRecord(raw)) throw new DeclaredCatalogueError(`${at} must be an object`);
  const { upstream, digest } = raw;
  const definition = toolDefinition(raw);
  if (typeof upstream !== 'string') throw new DeclaredCatalogueError(`${at}: upstream must be a text`);
  if (definition === undefined) throw new DeclaredCatalogueError(`${at}: name must be a text`);
  if (digest === undefined) return { upstream, tool: upstreamTool(definition) };
  if (typeof digest !== 'string' || !DIGEST.test(digest))
    throw new DeclaredCatalogueError(`${at}: digest must be sha256: and 64 hexadecimal digits`);
  return { upstream, tool: upstreamTool(definition, digest) };
}

/** The same form, sorted, every tool pinned, the ones that no mapping covers too. */
export function declaredText(tools: UpstreamTools): string {
  const sorted = [...tools].sort(([one], [other]) => (one < other ? -1 : 1));
  const entries = sorted.flatMap(([upstream, all]) =>
    all
      .map(({ definition }) => ({ upstream, ...definition, digest: digestOf(definition) }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
  );
  return stringify({ version: 1, tools: entries }, { aliasDuplicateObjects: false, lineWidth: 0 });
}
