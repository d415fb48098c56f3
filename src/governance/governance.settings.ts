import { IsIn, Matches, MaxLength } from 'class-validator';
import type { ConfigProblem, CrossCheckContext } from '../config/problem.js';
import { Setting, variableOf } from '../config/setting.js';

export const GOVERNANCE_MODES = ['open', 'policy'] as const;
export type GovernanceMode = (typeof GOVERNANCE_MODES)[number];

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

  @Setting({ doc: 'File with the policy, read at the start and on SIGHUP (docs/governance.md).', defaultDoc: 'none' })
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
    return problems;
  }
}
