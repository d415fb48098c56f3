import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { McpCall } from '../../src/mcp/call.js';
import { McpPrompt, McpResource, McpTool, type Prompt, type Resource, type Tool } from '../../src/mcp/decorators.js';
import { CallError } from '../../src/mcp/errors.js';

/** Tools of no business, each with one trait that the tests of `mcp` look at. */
const HINTS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
export const SECRET = 'contraseña-del-dsn-1234567';

@McpTool({
  name: 'eco',
  title: 'Eco',
  description: 'Devuelve el texto que recibe.',
  input: z.strictObject({ texto: z.string().max(40).describe('Lo que se devuelve.') }),
  output: z.strictObject({ longitud: z.number().int(), texto: z.string(), nota: z.string().nullable() }),
  requires: [],
  annotations: HINTS,
})
@Injectable()
export class Eco implements Tool<{ texto: string }, unknown> {
  subjects = 0;

  subject(input: unknown): string | null {
    this.subjects++;
    const { texto } = input as { texto?: unknown };
    if (texto === 'ilegible') throw new CallError('invalid_identifier', 'No se entiende.');
    return typeof texto === 'string' ? texto.toUpperCase() : null;
  }

  async call({ texto }: { texto: string }, call: McpCall): Promise<unknown> {
    call.subject();
    // Keys in another order than the schema's: what leaves is the payload as it was built.
    return { texto, longitud: texto.length, nota: null };
  }
}

@McpTool({
  name: 'turnos',
  title: 'Turnos',
  description: 'Espera unos turnos del bucle de eventos y devuelve lo que recibió.',
  input: z.strictObject({ nonce: z.string(), turnos: z.number().int().min(0).max(100) }),
  output: z.object({ nonce: z.string(), correlacion: z.string() }),
  requires: [],
  annotations: HINTS,
})
@Injectable()
export class Turnos implements Tool<{ nonce: string; turnos: number }, unknown> {
  async call({ nonce, turnos }: { nonce: string; turnos: number }, call: McpCall): Promise<unknown> {
    for (let turn = 0; turn < turnos; turn++) await new Promise((resolve) => setImmediate(resolve));
    return { nonce, correlacion: call.correlationId, sobra: 'no debe salir' };
  }
}

@McpTool({
  name: 'falla',
  title: 'Falla',
  description: 'Falla de la manera que se le pide.',
  input: z.strictObject({ modo: z.enum(['bug', 'negocio', 'jsonrpc', 'metodo', 'salida']) }),
  output: z.strictObject({ numero: z.number() }),
  requires: [],
  annotations: HINTS,
})
@Injectable()
export class Falla implements Tool<{ modo: string }, unknown> {
  async call({ modo }: { modo: string }): Promise<unknown> {
    if (modo === 'negocio') {
      throw new CallError('circuit_open', 'La fuente no está disponible.', { data: { retry_after_seconds: 7 } });
    }
    if (modo === 'jsonrpc') throw new CallError('sin_permiso', 'No está permitido.', { jsonRpcCode: 4003 });
    if (modo === 'metodo') throw new CallError('sin_metodo', 'No hay tal método.', { jsonRpcCode: -32601 });
    if (modo === 'salida') return { numero: SECRET };
    throw new Error(SECRET);
  }
}

/** Stays until its signal aborts; tells the test of both. */
@McpTool({
  name: 'colgado',
  title: 'Colgado',
  description: 'No termina hasta que la llamada se corta.',
  input: z.strictObject({}),
  output: z.strictObject({ fin: z.string() }),
  requires: [],
  annotations: HINTS,
})
@Injectable()
export class Colgado implements Tool<unknown, unknown> {
  readonly reached: McpCall[] = [];
  onReached: (call: McpCall) => void = () => undefined;
  onAborted: (reason: unknown) => void = () => undefined;

  async call(_input: unknown, call: McpCall): Promise<unknown> {
    this.reached.push(call);
    const aborted = new Promise<never>((_, reject) => {
      call.signal.addEventListener('abort', () => {
        this.onAborted(call.signal.reason);
        reject(call.signal.reason as Error);
      });
    });
    this.onReached(call);
    return aborted;
  }
}

@McpTool({
  name: 'avisa',
  title: 'Avisa',
  description: 'Avisa de su avance antes de responder.',
  input: z.strictObject({}),
  output: z.strictObject({ hecho: z.boolean() }),
  requires: [],
  annotations: HINTS,
})
@Injectable()
export class Avisa implements Tool<unknown, unknown> {
  async call(_input: unknown, call: McpCall): Promise<unknown> {
    await call.stream?.progress(1, 2, 'a medias');
    await call.stream?.log('info', { paso: 1 });
    await call.stream?.progress(2, 2);
    return { hecho: true };
  }
}

@McpResource({
  uri: 'data://prueba/dato',
  name: 'Dato',
  title: 'Dato de prueba',
  description: 'Un texto fijo.',
  mimeType: 'application/json',
  requires: ['uno'],
})
@Injectable()
export class Dato implements Resource {
  read(): string {
    return '{"ñ":1}';
  }
}

@McpResource({
  uri: 'data://prueba/roto',
  name: 'Roto',
  title: 'Recurso roto',
  description: 'Falla siempre.',
  mimeType: 'text/plain',
  requires: [],
})
@Injectable()
export class Roto implements Resource {
  read(): string {
    throw new Error(SECRET);
  }
}

@McpPrompt({
  name: 'saludo',
  title: 'Saludo',
  description: 'Saluda a alguien.',
  input: z
    .strictObject({
      nombre: z.string().max(20).optional().describe('A quién se saluda.'),
      apodo: z.string().max(20).optional(),
    })
    .refine(({ nombre, apodo }) => (nombre === undefined) !== (apodo === undefined)),
  requires: ['uno', 'dos'],
})
@Injectable()
export class Saludo implements Prompt<{ nombre?: string; apodo?: string }> {
  render({ nombre, apodo }: { nombre?: string; apodo?: string }): string {
    return `Hola, ${nombre ?? apodo}.`;
  }
}

export const FIXTURES = [Turnos, Eco, Falla, Colgado, Avisa, Roto, Dato, Saludo];
