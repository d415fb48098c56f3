import { ArrayMaxSize, IsIn, Matches, MaxLength } from 'class-validator';
import type { ConfigProblem, CrossCheckContext } from '../config/problem.js';
import { Setting, variableOf } from '../config/setting.js';
import { ToBoolean, ToList } from '../config/transforms.js';
import { isLoopback } from '../connectors/loopback.js';
import { isAddressOrNetwork } from '../mcp/edge/certificate-header.js';
import { mayBeAsked } from './outbound/bounded-request.js';
import { problemOfSpecifier } from './policy-source/specifier.js';

export const GOVERNANCE_MODES = ['open', 'policy'] as const;
export type GovernanceMode = (typeof GOVERNANCE_MODES)[number];

export const CHALLENGES = ['explain', 'oauth'] as const;

/** Counters in the memory of each replica. */
export const IN_MEMORY = 'memory';

/** Headers that mean something else to HTTP, to the edge or to the protocol: a credential is none of them. */
const TAKEN =
  /^(?:host|origin|cookie|connection|content-.*|transfer-encoding|accept.*|mcp-.*|traceparent|user-agent)$/i;

export class GovernanceSettings {
  static readonly section = 'GOVERNANCE';
  static readonly title = 'Governance';

  @Setting({
    doc: 'Who may call: open (everybody who reaches the server) or policy (what the policy grants). Must be written down in production.',
    defaultDoc: '`open`; none in production',
  })
  @IsIn(GOVERNANCE_MODES)
  mode?: GovernanceMode;

  @Setting({
    doc: 'The policy, read at the start and on SIGHUP: a file, https://…, or git+<url>#<ref>:<path> (docs/governance.md).',
    defaultDoc: 'none',
  })
  @MaxLength(4096)
  policy?: string;

  @Setting({
    doc: 'What the remote upstreams of the policy have: a file with a declared catalogue, or discover, which asks them at the start. Required when there are any.',
    defaultDoc: 'none',
  })
  @MaxLength(4096)
  catalog?: string;

  @Setting({
    doc: "Name of the variable with the caller's credential under `serve --stdio`, read anew for each request.",
    defaultDoc: '`MCP_CALLER_KEY`',
  })
  @Matches(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, { message: 'must be the name of a variable' })
  keyEnv = 'MCP_CALLER_KEY';

  @Setting({ doc: "Header with the caller's credential; a leading `Bearer ` is not part of it." })
  @Matches(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, { message: 'must be the name of an HTTP header' })
  keyHeader = 'Authorization';

  @Setting({
    doc: 'How a caller who is not recognised is answered: explain (a result or error that says why) or oauth (also 401 and 403, so that OAuth clients log in).',
  })
  @IsIn(CHALLENGES)
  challenge: (typeof CHALLENGES)[number] = 'explain';

  @Setting({
    doc: 'Public URL of /mcp, which tokens are asked for (RFC 9728). Must be set in production with the challenge oauth.',
    defaultDoc: 'http and the host that the client asked for',
  })
  @MaxLength(2048)
  resourceUrl?: string;

  @Setting({
    doc: 'Header in which a proxy names the subject of the client certificate that it has verified; never Authorization.',
    defaultDoc: 'none: nobody is recognised by a certificate',
  })
  @Matches(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, { message: 'must be the name of an HTTP header' })
  mtlsHeader?: string;

  @Setting({
    doc: 'Addresses or networks of the proxies that header is believed from, by the peer of the connection; one hop.',
    defaultDoc: 'none',
  })
  @ToList()
  @ArrayMaxSize(100)
  mtlsProxies?: readonly string[];

  @Setting({ doc: 'Base URL of the Vault behind `vault://` references.', defaultDoc: 'the variable VAULT_ADDR' })
  @MaxLength(2048)
  vaultAddress?: string;

  @Setting({
    doc: 'Reference to the token for Vault (env:// or file://), read again for every use.',
    example: 'file:///vault/secrets/token',
  })
  @Matches(/^(?:env:\/\/[A-Za-z_][A-Za-z0-9_]*|file:\/\/\/.+)$/, {
    message: 'must be a reference: env://NAME or file:///absolute/path',
  })
  vaultToken = 'env://VAULT_TOKEN';

  @Setting({
    doc: 'Where ceilings are counted: memory (each replica for itself), or the URL of the Redis that all replicas share (redis:// or rediss://).',
    secret: true,
    example: 'rediss://user:password@redis.example.com:6379/0',
    defaultDoc: '`memory`',
  })
  @MaxLength(2048)
  usageStore = IN_MEMORY;

  @Setting({ doc: 'Waives TLS to the Redis of the ceilings in production.' })
  @ToBoolean()
  usageAllowPlaintext = false;

  get governed(): boolean {
    return this.mode === 'policy';
  }

  crossCheck({ production }: CrossCheckContext): ConfigProblem[] {
    const problems: ConfigProblem[] = [];
    const mode = variableOf(GovernanceSettings, 'mode');
    const policy = variableOf(GovernanceSettings, 'policy');
    if (production && this.mode === undefined)
      problems.push({ variable: mode, problem: 'must be written down in production: open or policy' });
    if (this.governed && this.policy === undefined)
      problems.push({ variable: policy, problem: `must name the policy file, because ${mode} is policy` });
    // A policy that nobody obeys is the worst surprise of all.
    if (!this.governed && this.policy !== undefined)
      problems.push({ variable: policy, problem: `has no effect unless ${mode} is policy; set that or remove it` });
    if (!this.governed && this.catalog !== undefined)
      problems.push({
        variable: variableOf(GovernanceSettings, 'catalog'),
        problem: `has no effect unless ${mode} is policy; set that or remove it`,
      });
    if (TAKEN.test(this.keyHeader))
      problems.push({
        variable: variableOf(GovernanceSettings, 'keyHeader'),
        problem: 'must be a header that has no other meaning, such as Authorization or X-Api-Key',
      });
    return [
      ...problems,
      ...this.#policyForm(),
      ...this.#certificates(),
      ...this.#oauth(production),
      ...this.#stores(production),
    ];
  }

  #policyForm(): ConfigProblem[] {
    const problem = this.policy === undefined ? undefined : problemOfSpecifier(this.policy);
    return problem === undefined ? [] : [{ variable: variableOf(GovernanceSettings, 'policy'), problem }];
  }

  /** A client that could write this header itself would be whoever it likes (spec W-1). */
  #certificates(): ConfigProblem[] {
    const header = variableOf(GovernanceSettings, 'mtlsHeader');
    const proxies = variableOf(GovernanceSettings, 'mtlsProxies');
    const { mtlsHeader: name, mtlsProxies: listed } = this;
    const problems: ConfigProblem[] = [];
    if (name !== undefined && (TAKEN.test(name) || /^authorization$/i.test(name)))
      problems.push({ variable: header, problem: 'must be a header that only the proxy writes, never Authorization' });
    if (name !== undefined && name.toLowerCase() === this.keyHeader.toLowerCase())
      problems.push({ variable: header, problem: `must differ from ${variableOf(GovernanceSettings, 'keyHeader')}` });
    if (name !== undefined && listed === undefined)
      problems.push({ variable: proxies, problem: `must list the proxies that write ${header}` });
    if (name === undefined && listed !== undefined)
      problems.push({ variable: proxies, problem: `has no effect without ${header}` });
    if (listed?.every(isAddressOrNetwork) === false)
      problems.push({
        variable: proxies,
        problem: 'must list IP addresses or networks, such as 10.0.0.7 or fd00::/64',
      });
    return problems;
  }

  #oauth(production: boolean): ConfigProblem[] {
    const problems: ConfigProblem[] = [];
    const resource = variableOf(GovernanceSettings, 'resourceUrl');
    if (this.resourceUrl !== undefined && !isResource(this.resourceUrl))
      problems.push({
        variable: resource,
        problem: 'must be an https URL (http on loopback) without query or fragment',
      });
    if (this.challenge !== 'oauth') return problems;
    const challenge = variableOf(GovernanceSettings, 'challenge');
    if (!this.governed)
      problems.push({
        variable: challenge,
        problem: `has no effect unless ${variableOf(GovernanceSettings, 'mode')} is policy`,
      });
    if (!/^authorization$/i.test(this.keyHeader))
      problems.push({
        variable: challenge,
        problem: `can be oauth only with ${variableOf(GovernanceSettings, 'keyHeader')} Authorization (RFC 6750)`,
      });
    if (production && this.resourceUrl === undefined)
      problems.push({
        variable: resource,
        problem: 'must be set in production: the URL under which clients reach /mcp',
      });
    return problems;
  }

  #stores(production: boolean): ConfigProblem[] {
    const problems: ConfigProblem[] = [];
    const vault = this.vaultAddress === undefined ? undefined : URL.parse(this.vaultAddress);
    if (vault === null || (vault !== undefined && !mayBeAsked(vault)))
      problems.push({
        variable: variableOf(GovernanceSettings, 'vaultAddress'),
        problem: 'must be an https URL (http on loopback) without user and password',
      });
    if (this.usageStore === IN_MEMORY) return problems;
    const variable = variableOf(GovernanceSettings, 'usageStore');
    const url = URL.parse(this.usageStore);
    if (
      url === null ||
      !/^rediss?:$/.test(url.protocol) ||
      url.hostname === '' ||
      !/^(?:\/\d{0,5})?$/.test(url.pathname)
    )
      problems.push({
        variable,
        problem: 'must be memory, or redis:// or rediss:// with a host and at most a database',
      });
    else if (production && url.protocol === 'redis:' && !isLoopback(url.hostname) && !this.usageAllowPlaintext)
      problems.push({
        variable,
        problem: `must be rediss:// in production, or ${variableOf(GovernanceSettings, 'usageAllowPlaintext')} must be true`,
      });
    return problems;
  }
}

function isResource(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && mayBeAsked(url) && url.search === '' && url.hash === '';
}
