import { describe, expect, it } from '@jest/globals';
import {
  evaluate,
  NOT_CONSULTED,
  normalisePrincipal,
  PRINCIPAL_PROBLEMS,
  visible,
  visibleEntries,
  type Principal,
} from '../../../../src/governance/core/index.js';
import { canonical, example, policyOf, principalOf } from './artefacts.js';

/** Decision 0027 as far as the core goes: identity is an argument, and nothing of it stays. */
const policy = policyOf(example());
const ana = principalOf(policy, 'agentes', 'ana');
const robot = principalOf(policy, 'nocturno', 'lote');

const answers = (principal: Principal): unknown => {
  const question = { principal, capability: 'saldo.leer', at: 0, subject: NOT_CONSULTED, usage: NOT_CONSULTED };
  return [visibleEntries(policy, visible(policy, principal, 0)), evaluate(policy.ruleset, question)];
};

describe('identity as an argument', () => {
  it('gives two callers of one policy, two thousand times in turn, what each gets alone', () => {
    const alone = { ana: JSON.stringify(answers(ana)), robot: JSON.stringify(answers(robot)) };
    expect(alone.ana).not.toBe(alone.robot);
    for (let turn = 0; turn < 1_000; turn += 1) {
      expect(JSON.stringify(answers(ana))).toBe(alone.ana);
      expect(JSON.stringify(answers(robot))).toBe(alone.robot);
    }
  });

  it('leaves policy and principal as they were', () => {
    const before = structuredClone([policy, ana]);
    answers(ana);
    expect([policy, ana]).toEqual(before);
  });

  it('keys a view by what is seen, never by who sees it', () => {
    const luis = principalOf(policy, 'agentes', 'luis', { unidad: 'sur' });
    expect(visible(policy, luis, 0).key).toBe(visible(policy, ana, 0).key);
    expect(visible(policy, robot, 0).key).not.toBe(visible(policy, ana, 0).key);
  });
});

describe('a principal', () => {
  const issuer = policy.issuers.get('agentes');

  it('keeps only declared attributes and lists the others', () => {
    const attributes = { unidad: 'norte', rol: 'admin', toString: 'x', cedula: '' };
    const resolution = normalisePrincipal(issuer, { issuer: 'agentes', subject: 'ana', attributes }, canonical);
    expect(resolution).toMatchObject({ ok: true, discarded: ['rol', 'toString', 'cedula'] });
    expect(resolution.ok && [...resolution.principal.attributes]).toEqual([['unidad', 'norte']]);
  });

  it('is named by issuer and subject, and holds no credential', () => {
    expect(ana.id).toBe('agentes:ana');
    expect(Object.keys(ana).sort()).toEqual(['attributes', 'id', 'identifiers', 'issuer', 'subject']);
  });

  it.each(['', '   '])('does not exist without a subject (%p): nobody is anonymous', (subject) => {
    expect(normalisePrincipal(issuer, { issuer: 'agentes', subject, attributes: {} }, canonical)).toEqual({
      ok: false,
      problem: 'credential_missing',
    });
  });

  it('does not exist without its issuer, nor under another', () => {
    const unknown = { ok: false, problem: 'issuer_unknown' };
    expect(normalisePrincipal(undefined, { issuer: 'x', subject: 'ana', attributes: {} }, canonical)).toEqual(unknown);
    expect(normalisePrincipal(issuer, { issuer: 'nocturno', subject: 'ana', attributes: {} }, canonical)).toEqual(
      unknown,
    );
  });

  it('fails to be recognised in the four ways of the spec and for want of a scope, told apart', () => {
    expect(PRINCIPAL_PROBLEMS).toEqual([
      'credential_missing',
      'credential_invalid',
      'credential_expired',
      'issuer_unknown',
      'scope_insufficient',
    ]);
  });
});
