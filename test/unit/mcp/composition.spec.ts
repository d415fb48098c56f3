import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { z } from 'zod';
import { compose, logRegistration } from '../../../src/mcp/composition.js';
import { McpPrompt, McpResource, McpTool } from '../../../src/mcp/decorators.js';
import type { EventLog, Fields } from '../../../src/logging/event-log.js';

const empty = z.strictObject({});
const annotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const common = { title: 't', description: 'd', input: empty, output: empty, annotations };

function neverConstructed(): Type {
  return class {
    constructor() {
      throw new Error('constructed');
    }
  };
}

function tool(name: string, requires: readonly string[]): Type {
  const type = neverConstructed();
  McpTool({ ...common, name, requires })(type);
  return type;
}

const one = tool('consultar_cliente', ['postgres']);
const other = tool('consultar_saldo', ['saldo_api']);
const both = tool('resumen_cliente', ['postgres', 'saldo_api']);
const resource = neverConstructed();
McpResource({
  uri: 'data://clientes/estados',
  name: 'n',
  title: 't',
  description: 'd',
  mimeType: 'm',
  requires: ['postgres'],
})(resource);
const prompt = neverConstructed();
McpPrompt({
  name: 'atencion_cliente',
  title: 't',
  description: 'd',
  input: empty,
  requires: ['postgres', 'saldo_api'],
})(prompt);

const ALL = [one, other, both, resource, prompt];

function logged(enabled: string[]): [string, Fields | undefined][] {
  const lines: [string, Fields | undefined][] = [];
  const never = () => {
    throw new Error('another level');
  };
  const log: EventLog = {
    info: (event, fields) => lines.push([event, fields]),
    debug: never,
    warning: never,
    error: never,
  };
  logRegistration(log, compose(ALL, new Set(enabled)));
  return lines;
}

const NEEDS_POSTGRES = "requiere el conector 'postgres', que no está disponible";
const NEEDS_SALDO = "requiere el conector 'saldo_api', que no está disponible";
const RESOURCE = [
  'resource_not_registered',
  { resource: 'data://clientes/estados', motivo: "requiere el conector 'postgres'" },
];
const PROMPT = [
  'prompt_not_registered',
  { prompt: 'atencion_cliente', motivo: 'requiere ambos conectores (postgres y saldo_api)' },
];

describe('the composition', () => {
  it.each([
    [['postgres', 'saldo_api'], ALL],
    [['postgres'], [one, resource]],
    [['saldo_api'], [other]],
    [[], []],
  ])('with %j constructs what its sources allow, and constructs nothing to know it', (enabled, expected) => {
    expect(compose(ALL, new Set(enabled)).constructed).toEqual(expected);
  });

  it('says what is registered and why the rest is not, in the words of the reference', () => {
    expect(logged(['postgres', 'saldo_api'])).toEqual([
      [
        'tools_registration_summary',
        { registradas: ['consultar_cliente', 'consultar_saldo', 'resumen_cliente'], omitidas: {} },
      ],
    ]);
    expect(logged(['postgres'])).toEqual([
      [
        'tools_registration_summary',
        {
          registradas: ['consultar_cliente'],
          omitidas: { consultar_saldo: NEEDS_SALDO, resumen_cliente: 'requiere ambos conectores; falta(n): saldo_api' },
        },
      ],
      PROMPT,
    ]);
    expect(logged(['saldo_api'])).toEqual([
      [
        'tools_registration_summary',
        {
          registradas: ['consultar_saldo'],
          omitidas: {
            consultar_cliente: NEEDS_POSTGRES,
            resumen_cliente: 'requiere ambos conectores; falta(n): postgres',
          },
        },
      ],
      RESOURCE,
      PROMPT,
    ]);
    expect(logged([])).toEqual([
      [
        'tools_registration_summary',
        {
          registradas: [],
          omitidas: {
            consultar_cliente: NEEDS_POSTGRES,
            consultar_saldo: NEEDS_SALDO,
            resumen_cliente: 'requiere ambos conectores; falta(n): postgres, saldo_api',
          },
        },
      ],
      RESOURCE,
      PROMPT,
    ]);
  });

  it('finds words for three sources too', () => {
    const log: [string, Fields | undefined][] = [];
    const sink = { info: (event: string, fields?: Fields) => log.push([event, fields]) } as unknown as EventLog;
    logRegistration(sink, compose([tool('tres', ['a', 'b', 'c'])], new Set(['b'])));
    expect(log[0]?.[1]).toEqual({ registradas: [], omitidas: { tres: 'requiere 3 conectores; falta(n): a, c' } });
  });

  it('refuses a class that is none of the three', () => {
    expect(() => compose([class Nada {}], new Set())).toThrow('Nada is neither a tool nor a resource nor a prompt');
  });
});
