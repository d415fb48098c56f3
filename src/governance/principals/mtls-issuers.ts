import type { EventLog } from '../../logging/event-log.js';
import type { ForwardedCertificate } from '../../mcp/call.js';
import type { Issuer } from '../core/index.js';
import type { Recognition } from '../ports.js';
import { componentsOf, type Component } from './distinguished-name.js';
import { subjectOf } from './forwarded-certificate.js';

const INVALID: Recognition = { ok: false, problem: 'credential_invalid' };
const COMPONENT = 'dn:';
const COMMON_NAME = 'CN';
const LONGEST = 256;

/**
 * Who a client's certificate names, as the proxy that has verified it says (spec §3.3). The edge has looked whether the header
 * came from a listed proxy; from anybody else it is a forgery. With several issuers of this kind nothing tells them apart, so
 * nobody is recognised.
 */
export class MtlsIssuers {
  readonly #issuers: readonly Issuer[];

  constructor(
    issuers: Iterable<Issuer>,
    private readonly log: EventLog,
  ) {
    this.#issuers = [...issuers].filter(({ kind }) => kind === 'mtls');
  }

  resolve(certificate: ForwardedCertificate): Recognition {
    if (certificate.kind === 'forged') {
      this.log.warning('client_certificate_forged');
      return INVALID;
    }
    const [issuer, another] = this.#issuers;
    if (issuer === undefined || another !== undefined) return INVALID;
    const name = subjectOf(certificate.text);
    const components = name === undefined ? undefined : componentsOf(name);
    const subject = components && only(components, COMMON_NAME);
    if (components === undefined || subject === undefined) return INVALID;
    const attributes: Record<string, string> = Object.create(null) as Record<string, string>;
    for (const [attribute, source] of issuer.attributes) {
      const value = only(components, source.slice(COMPONENT.length).toUpperCase());
      if (value !== undefined) attributes[attribute] = value;
    }
    return { ok: true, principal: { issuer: issuer.id, subject, attributes } };
  }
}

/** A component that is there twice has no value: whichever was taken would be a choice. */
function only(components: readonly Component[], type: string): string | undefined {
  const [value, another] = components.filter(([one]) => one === type).map(([, text]) => text);
  return another === undefined && value !== undefined && value.trim() !== '' && value.length <= LONGEST
    ? value
    : undefined;
}
