/** The artefact as it is written, after the schema has accepted it. References only; never a secret. */
export interface PolicyDocument {
  readonly version: 1;
  readonly capabilities: readonly CapabilityDocument[];
  readonly upstreams?: readonly UpstreamDocument[];
  readonly accounts: readonly AccountDocument[];
  readonly principals: { readonly issuers: readonly IssuerDocument[] };
  readonly grants: readonly GrantDocument[];
}

export interface CapabilityDocument {
  readonly id: string;
  readonly description?: string;
}

export type TransportDocument =
  | { readonly kind: 'local' }
  | { readonly kind: 'mcp-stdio'; readonly command: string; readonly args?: readonly string[] }
  | { readonly kind: 'mcp-http'; readonly url: string };

export interface UpstreamDocument {
  readonly id: string;
  readonly transport: TransportDocument;
  readonly tools: readonly NamedMappingDocument[];
  readonly resources?: readonly ResourceMappingDocument[];
  readonly prompts?: readonly NamedMappingDocument[];
}

export interface NamedMappingDocument {
  readonly name: string;
  readonly capability: string;
}

/** A resource is named by its URI or by its name: exactly one of the two. */
export type ResourceMappingDocument =
  | { readonly uri: string; readonly name?: undefined; readonly capability: string }
  | { readonly name: string; readonly uri?: undefined; readonly capability: string };

export interface AccountDocument {
  readonly id: string;
  readonly disabled?: boolean;
  readonly secret: SecretDocument;
}

export interface SecretDocument {
  readonly ref: string;
}

export type IssuerKind = 'oidc' | 'static-key' | 'mtls';

export interface IssuerDocument {
  readonly id: string;
  readonly kind: IssuerKind;
  readonly discovery?: string;
  readonly audience?: string;
  readonly scopes?: readonly string[];
  readonly subject?: string;
  readonly secret?: SecretDocument;
  readonly attributes?: Readonly<Record<string, string>>;
}

export interface GrantDocument {
  readonly to: { readonly issuer: string; readonly attributes?: Readonly<Record<string, string>> };
  readonly capabilities: readonly string[];
  readonly using: string;
  readonly limits?: { readonly calls: number; readonly per: string };
  /** Whose data: the canonical subject of the call must equal this attribute of the principal. */
  readonly subject?: { readonly equals: string };
  /** How many different subjects a principal may ask for in a window. */
  readonly distinctSubjects?: { readonly count: number; readonly per: string };
  /** Fields left out of results. */
  readonly omit?: readonly string[];
}
