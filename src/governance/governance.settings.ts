import { IsIn } from 'class-validator';
import type { ConfigProblem, CrossCheckContext } from '../config/problem.js';
import { Setting, variableOf } from '../config/setting.js';

export const GOVERNANCE_MODES = ['open', 'policy'] as const;
export type GovernanceMode = (typeof GOVERNANCE_MODES)[number];

export class GovernanceSettings {
  static readonly section = 'GOVERNANCE';
  static readonly title = 'Governance';

  @Setting({
    doc: 'Who may call: open (everybody who reaches the server) or policy, which this version does not serve yet. Must be written down in production.',
    defaultDoc: '`open`; none in production',
  })
  @IsIn(GOVERNANCE_MODES)
  mode?: GovernanceMode;

  crossCheck({ production }: CrossCheckContext): ConfigProblem[] {
    const variable = variableOf(GovernanceSettings, 'mode');
    // Fail closed: serving openly when a policy was asked for would be the worst answer.
    if (this.mode === 'policy') {
      return [{ variable, problem: 'cannot be policy in this version: only open can be served' }];
    }
    if (production && this.mode === undefined) {
      return [{ variable, problem: 'must be written down in production (open is the only mode of this version)' }];
    }
    return [];
  }
}
