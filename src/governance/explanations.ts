/**
 * What a caller reads about a refusal: what happened and what to do, never what exists that he cannot see, and nothing of
 * the file the policy is in. Spanish unless the request prefers English.
 */
import type { DenialCode, PrincipalProblem } from './core/index.js';

/** Codes of the shell itself. `not_mapped` is for the audit alone: its caller is told that there is no such name. */
export const EDGE_CODES = ['not_mapped', 'credential_unresolved', 'definition_changed', 'definition_unusable'] as const;
export type EdgeCode = (typeof EDGE_CODES)[number];

export type ExplainedCode = DenialCode | PrincipalProblem | Exclude<EdgeCode, 'not_mapped'>;
export type Language = 'es' | 'en';

type Texts = Readonly<Record<ExplainedCode, string>>;

const ES: Texts = {
  credential_missing: 'Falta la credencial: envíala en la cabecera que indica la configuración del servidor.',
  credential_invalid: 'La credencial no es válida. Revisa que sea la vigente y que esté completa.',
  credential_expired: 'La credencial ha caducado. Obtén una nueva y repite la solicitud.',
  issuer_unknown: 'Nadie en la política reconoce esta credencial.',
  scope_insufficient: 'La credencial es válida, pero le faltan permisos (scopes) para usar este servidor.',
  capability_not_declared: 'La política no declara la capacidad que esto necesita.',
  capability_not_realized: 'La capacidad está declarada, pero nada la realiza.',
  no_grant_matches: 'Ninguna concesión permite esta consulta a quien la hace.',
  ambiguous_grant: 'Varias concesiones nombran cuentas distintas; la política debe corregirse.',
  account_disabled: 'La cuenta con la que se haría la consulta está desactivada.',
  subject_attribute_missing:
    'Solo se permite consultar datos propios, y tu identidad no dice con qué identificador compararlos.',
  subject_not_allowed: 'Solo se permite consultar datos propios, y estos son de otra persona o empresa.',
  usage_unknown: 'No se sabe cuántas consultas van en este período y hay un límite. Intenta de nuevo en unos segundos.',
  limit_exhausted: 'Se alcanzó el límite de consultas de este período. Espera a que termine o pide otro límite.',
  distinct_subjects_exhausted:
    'Se alcanzó el límite de personas o empresas distintas de este período. Aún puedes consultar las ya consultadas.',
  credential_unresolved:
    'La consulta está autorizada, pero la credencial de su cuenta no se pudo leer. Intenta de nuevo en unos segundos.',
  definition_changed:
    'La herramienta ya no es la que se revisó: su servidor la define de otra manera. No se ejecutará hasta que alguien la revise.',
  definition_unusable:
    'La definición de la herramienta no es segura para los clientes, así que no se ejecuta. Su servidor debe corregirla.',
};

const EN: Texts = {
  credential_missing: 'The credential is missing: send it in the header that the server is configured for.',
  credential_invalid: 'The credential is not valid. Check that it is the current one and complete.',
  credential_expired: 'The credential has expired. Get a new one and repeat the request.',
  issuer_unknown: 'Nobody in the policy recognises this credential.',
  scope_insufficient: 'The credential is valid, but lacks scopes that this server asks for.',
  capability_not_declared: 'The policy does not declare the capability that this needs.',
  capability_not_realized: 'The capability is declared, but nothing realises it.',
  no_grant_matches: 'No grant allows this to whoever asks.',
  ambiguous_grant: 'Several grants name different accounts; the policy must be corrected.',
  account_disabled: 'The account that would run this is disabled.',
  subject_attribute_missing:
    "Only one's own data may be asked for, and your identity does not say which identifier to compare them with.",
  subject_not_allowed: "Only one's own data may be asked for, and these are somebody else's.",
  usage_unknown:
    'It is not known how many calls this period has had, and there is a limit. Try again in a few seconds.',
  limit_exhausted: 'The limit of calls of this period is reached. Wait for its end or ask for another limit.',
  distinct_subjects_exhausted:
    'The limit of different people or companies of this period is reached. Those already asked about may be asked about again.',
  credential_unresolved:
    'This is allowed, but the credential of its account could not be read. Try again in a few seconds.',
  definition_changed:
    'The tool is not the one that was reviewed: its server defines it in another way. It will not run until somebody has reviewed it.',
  definition_unusable: "The tool's definition is not safe for clients, so it does not run. Its server must correct it.",
};

const TEXTS: Readonly<Record<Language, Texts>> = { es: ES, en: EN };

export const explanation = (code: ExplainedCode, language: Language): string => TEXTS[language][code];

/** Labels of the facts that follow the explanation. */
export const LABELS: Readonly<
  Record<Language, { code: string; place: string; line: string; column: string; request: string }>
> = {
  es: { code: 'Código', place: 'lugar en la política', line: 'línea', column: 'columna', request: 'solicitud' },
  en: { code: 'Code', place: 'place in the policy', line: 'line', column: 'column', request: 'request' },
};

/** `Accept-Language` (RFC 9110 §12.5.4) as far as two languages need it: English when it is wanted more than Spanish. */
export function languageOf(acceptLanguage: string | undefined): Language {
  const weights: Record<Language, number> = { es: 0, en: 0 };
  for (const range of (acceptLanguage ?? '').toLowerCase().split(',')) {
    const [, tag, quality] = /^\s*([a-z]{2})(?:-[a-z0-9-]+)?\s*(?:;\s*q=\s*([0-9.]+)\s*)?$/.exec(range) ?? [];
    const weight = quality === undefined ? 1 : Number(quality);
    if ((tag === 'es' || tag === 'en') && weight > weights[tag]) weights[tag] = weight;
  }
  return weights.en > weights.es ? 'en' : 'es';
}
