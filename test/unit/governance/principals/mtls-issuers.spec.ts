import { describe, expect, it } from '@jest/globals';
import type { Issuer } from '../../../../src/governance/core/index.js';
import { componentsOf } from '../../../../src/governance/principals/distinguished-name.js';
import { subjectOf } from '../../../../src/governance/principals/forwarded-certificate.js';
import { MtlsIssuers } from '../../../../src/governance/principals/mtls-issuers.js';

const INVALID = { ok: false, problem: 'credential_invalid' };
const issuer: Issuer = {
  ...{ id: 'malla', kind: 'mtls', path: '/principals/issuers/0' },
  attributes: new Map([
    ['empresa', 'dn:O'],
    ['unidad', 'dn:ou'],
  ]),
};
const warnings: string[] = [];
const log = {
  debug: () => undefined,
  info: () => undefined,
  warning: (event: string) => void warnings.push(event),
  error: () => undefined,
};
const resolve = (text: string, issuers: readonly Issuer[] = [issuer]) =>
  new MtlsIssuers(issuers, log).resolve({ kind: 'vouched', text });

describe('the subject of a client certificate', () => {
  it.each([
    ['a bare name', 'CN=lotes,OU=noche,O=Acme'],
    ['with spaces around its components', 'CN = lotes , OU = noche , O = Acme'],
    ['in another order and case', 'o=Acme, ou=noche, cn=lotes'],
    ['with two components in one', 'CN=lotes+OU=noche,O=Acme'],
    ['as Envoy says it', 'By=spiffe://a;Hash=468ed3;Subject="CN=lotes,OU=noche,O=Acme";URI=spiffe://b'],
    ['as Envoy says it, in small letters', 'hash=468ed3;subject="CN=lotes,OU=noche,O=Acme"'],
  ])('names the caller, %s', (_, text) => {
    expect(resolve(text)).toEqual({
      ok: true,
      principal: { issuer: 'malla', subject: 'lotes', attributes: { empresa: 'Acme', unidad: 'noche' } },
    });
  });

  it('has its escapes undone, once', () => {
    expect(componentsOf('CN=Acme\\, S.A.,O="a,b",OU=\\C3\\B1and\\C3\\BA,L=\\#x\\ ')).toEqual([
      ['CN', 'Acme, S.A.'],
      ['O', 'a,b'],
      ['OU', 'ñandú'],
      ['L', '#x '],
    ]);
    expect(subjectOf('Subject="CN=a\\\\,O=b"')).toBe('CN=a\\,O=b');
    expect(resolve('Subject="CN=a\\\\, O=b"')).toMatchObject({ principal: { subject: 'a, O=b', attributes: {} } });
  });

  it.each([
    ['nothing', ''],
    ['no name', 'lotes'],
    ['no common name', 'O=Acme'],
    ['two common names', 'CN=lotes,CN=jefe'],
    ['an empty common name', 'CN= ,O=Acme'],
    ['half of it unreadable', 'CN=lotes,=x'],
    ['an open quote', 'CN="lotes'],
    ['a control character', 'CN=lo\u0007tes'],
    ['an escaped control character', 'CN=lo\\00tes'],
    ['bytes that are no text', 'CN=\\FF'],
    ['a common name in hexadecimal', 'CN=#0C05'],
    ['the one-line form of OpenSSL', '/C=VE/CN=lotes'],
    ['Envoy without a subject', 'By=spiffe://a;Hash=1'],
    ['Envoy with two subjects', 'Subject="CN=a";Subject="CN=b"'],
    ['two hops', 'Hash=1;Subject="CN=jefe",Hash=2;Subject="CN=lotes"'],
    ['two hops, of which the first is no element', 'CN=jefe,By=x;Subject="CN=lotes"'],
    ['two hops, of which the second is no element', 'Subject="CN=lotes",CN=jefe'],
    ['too much', `CN=lotes,O=${'x'.repeat(5_000)}`],
    ['too long a common name', `CN=${'x'.repeat(257)}`],
  ])('names nobody with %s', (_, text) => {
    expect(resolve(text)).toEqual(INVALID);
  });

  it('gives no attribute of a component that is there twice', () => {
    expect(resolve('CN=lotes,O=Acme,O=Otra')).toMatchObject({ ok: true, principal: { attributes: {} } });
  });

  it('names nobody when the header is a forgery, or when two issuers could have vouched', () => {
    expect(new MtlsIssuers([issuer], log).resolve({ kind: 'forged' })).toEqual(INVALID);
    expect(warnings).toEqual(['client_certificate_forged']);
    expect(resolve('CN=lotes', [issuer, { ...issuer, id: 'otra' }])).toEqual(INVALID);
    expect(resolve('CN=lotes', [])).toEqual(INVALID);
  });
});
