import type { AccountView } from './account.js';
import type { Ceiling } from './ceiling.js';
import type { Pointer } from './pointer.js';
import type { Selector } from './selector.js';

/** A grant as the decision sees it. The two identities stay apart: `to` is who calls, `account` is with what. */
export interface Grant {
  readonly path: Pointer;
  readonly to: Selector;
  readonly capabilities: ReadonlySet<string>;
  readonly account: AccountView;
  readonly calls?: Ceiling;
  readonly distinctSubjects?: Ceiling;
  /** Attribute of the principal that the subject of the call must equal. */
  readonly subjectEquals?: string;
  readonly omit: readonly string[];
}

const sortedPairs = (map: ReadonlyMap<string, string>): readonly (readonly [string, string])[] =>
  [...map].sort(([one], [other]) => (one < other ? -1 : Number(one > other)));

const terms = (limit: Ceiling | undefined): readonly number[] | null =>
  limit === undefined ? null : [limit.limit, limit.windowMs];

const selectorContent = (selector: Selector): readonly unknown[] => [selector.issuer, sortedPairs(selector.attributes)];

/** Names a selector by what it says. */
export const selectorIdentity = (selector: Selector): string => JSON.stringify(selectorContent(selector));

/** Names a grant by what it says, wherever in the file it stands (spec W-22). Two ways of writing one window are one content. */
export const grantIdentity = (grant: Grant): string =>
  JSON.stringify([
    selectorContent(grant.to),
    [...grant.capabilities].sort(),
    grant.account.id,
    terms(grant.calls),
    terms(grant.distinctSubjects),
    grant.subjectEquals ?? null,
    [...new Set(grant.omit)].sort(),
  ]);

/**
 * Name the counters. Calls are counted per principal and capability (spec §3.4); different subjects per principal and
 * grant, whatever capability they are asked through, since who walks through everybody does it with all tools together.
 * Account and omissions are left out: editing them must not hand a caller a fresh window. JSON keeps parts with `:` or `|`
 * inside from running together.
 */
export const callsKey = (principal: string, capability: string, grant: Grant, limit: Ceiling): string =>
  JSON.stringify([
    'calls',
    principal,
    capability,
    selectorContent(grant.to),
    grant.subjectEquals ?? null,
    terms(limit),
  ]);

export const subjectsKey = (principal: string, grant: Grant, limit: Ceiling): string =>
  JSON.stringify([
    'subjects',
    principal,
    [...grant.capabilities].sort(),
    selectorContent(grant.to),
    grant.subjectEquals ?? null,
    terms(limit),
  ]);
