import { boundedSender, RequestError, type Send } from '../outbound/bounded-request.js';
import { PolicyUnreachableError } from './unreachable.js';
import { MAX_ARTEFACT_BYTES } from '../policy-file/yaml-text.js';
import { loadText } from './file-text.js';
import { gitText } from './git-text.js';
import { specifierOf, type PolicyText } from './specifier.js';

/** Milliseconds, spec §3.1. */
const HTTPS_MS = 10_000;

/** Reads a policy from wherever it is. Rejects with a PolicyFormError or a PolicyUnreachableError; never with an empty policy. */
export async function policyText(written: string, send: Send = boundedSender()): Promise<PolicyText> {
  const specifier = specifierOf(written);
  switch (specifier.kind) {
    case 'file':
      return { text: await loadText(specifier.path) };
    case 'https':
      return { text: await httpsText(specifier.url, send) };
    case 'git':
      return gitText(specifier);
  }
}

async function httpsText(url: string, send: Send): Promise<string> {
  try {
    const { status, text } = await send(url, {
      ...{ maxBytes: MAX_ARTEFACT_BYTES, timeoutMs: HTTPS_MS },
      headers: { accept: 'application/yaml, text/plain, */*', 'cache-control': 'no-cache' },
    });
    if (status !== 200) throw new PolicyUnreachableError(`HTTP ${status}`);
    if (text.trim() === '') throw new PolicyUnreachableError('empty');
    return text;
  } catch (error) {
    if (error instanceof RequestError) throw new PolicyUnreachableError(error.code ?? error.problem);
    throw error;
  }
}
