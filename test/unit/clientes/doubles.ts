import { IdentifierReader } from '../../../src/clientes/identifier-reader.js';
import { IdentifiersSettings } from '../../../src/clientes/identifiers.settings.js';
import type { CallKind, McpCall, PartGrant, SourceOptions } from '../../../src/mcp/call.js';
import type { CompiledEntry } from '../../../src/mcp/catalogue-entry.js';
import type { ClientesQueries } from '../../../src/sources/postgres/clientes.queries.js';
import type { SaldosClient } from '../../../src/sources/saldo-api/saldos.client.js';

export const ANA = {
  cedula: 'V16760320',
  nombre: 'Ana María Restrepo',
  email: 'ana.restrepo@example.com',
  estado: 'activo',
};
export const SALDO_DE_ANA = { cedula: 'V16760320', saldo: 1500000.5, moneda: 'COP' };

export type Answer<T> = (options: SourceOptions) => Promise<T | null>;

/** One source at the port that the tools see: a way to answer, and what it was asked. */
export class SourceDouble<T> {
  readonly asked: { readonly cedula: string; readonly options: SourceOptions }[] = [];

  constructor(private readonly answer: Answer<T>) {}

  async porCedula(cedula: string, options: SourceOptions): Promise<T | null> {
    this.asked.push({ cedula, options });
    return this.answer(options);
  }
}

export type ClientesDouble = SourceDouble<typeof ANA>;
export type SaldosDouble = SourceDouble<typeof SALDO_DE_ANA>;

// The two classes have private parts that no tool can see; `porCedula` is the whole port.
export const asClientes = (double: ClientesDouble) => double as unknown as ClientesQueries;
export const asSaldos = (double: SaldosDouble) => double as unknown as SaldosClient;

export const answers =
  <T>(value: T | null): Answer<T> =>
  async () =>
    value;

export const fails =
  (error: Error): Answer<never> =>
  async () => {
    throw error;
  };

/** Answers nothing until its signal aborts; then as a well-behaved source does, a turn later and with the reason. */
export const hangs =
  (settled: string[] = [], name = 'source'): Answer<never> =>
  ({ signal }) =>
    new Promise((_resolve, reject) => {
      const leave = () =>
        setImmediate(() => {
          settled.push(name);
          reject(signal.reason as Error);
        });
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
    });

export function reader(overrides: Partial<IdentifiersSettings> = {}): IdentifierReader {
  return new IdentifierReader(Object.assign(new IdentifiersSettings(), overrides));
}

interface CallSetup {
  readonly kind?: CallKind;
  readonly signal?: AbortSignal;
  /** Decisions by part; what is not named is allowed. */
  readonly grants?: Readonly<Record<string, PartGrant>>;
  /** Codes that governance has put into the journal before the tool runs. */
  readonly journalled?: Readonly<Record<string, string>>;
}

export class CallDouble implements McpCall {
  readonly kind: CallKind;
  readonly name = 'tool under test';
  readonly correlationId = '0'.repeat(32);
  readonly caller = { credential: '' };
  readonly signal: AbortSignal;
  readonly grants: ReadonlyMap<string, PartGrant>;
  readonly entry: CompiledEntry;
  readonly journal;
  readonly optionsAsked: {
    readonly source: string;
    readonly part: string | undefined;
    readonly signal: AbortSignal;
  }[] = [];
  parsed = 0;
  private known: { readonly subject: string | null } | undefined;

  constructor(
    readonly input: unknown,
    private readonly subjectFrom: (input: unknown) => string | null,
    setup: CallSetup = {},
  ) {
    this.kind = setup.kind ?? 'tool';
    this.signal = setup.signal ?? new AbortController().signal;
    this.grants = new Map(Object.entries(setup.grants ?? {}));
    const parts: Record<string, string> = { ...setup.journalled };
    const sources: string[] = [];
    this.journal = {
      parts,
      sources,
      notes: {},
      touched: (source: string) => void sources.push(source),
      part: (name: string, code: string) => void (parts[name] = code),
      note: () => undefined,
    };
    this.entry = {
      kind: this.kind,
      name: this.name,
      definition: {},
      requires: [],
      parts: [],
      outcome: () => 'success',
      subject: subjectFrom,
      validate: (value) => value,
      run: async () => ({}),
    };
  }

  subject(): string | null {
    if (this.known === undefined) {
      this.parsed += 1;
      this.known = { subject: this.subjectFrom(this.input) };
    }
    return this.known.subject;
  }

  part(name = ''): PartGrant {
    return this.grants.get(name) ?? { allowed: true };
  }

  options(source: string, part?: string, signal = this.signal): SourceOptions {
    this.optionsAsked.push({ source, part, signal });
    return { signal, touched: () => this.journal.touched(source) };
  }
}
