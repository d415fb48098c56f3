import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { Conversation } from '../../../../src/mcp/asking/dialogue.js';
import { Form, ask, canAnswer, listRoots, sample, visit } from '../../../../src/mcp/asking/questions.js';

const form = new Form(
  z.strictObject({
    nombre: z.string().max(20),
    edad: z.number().int().optional(),
    color: z.enum(['rojo', 'azul']),
    dias: z.array(z.enum(['lunes', 'martes'])),
  }),
);

describe('a form', () => {
  it('is asked for as clients show it: flat, with what is required', () => {
    expect(form.question('¿Quién eres?')).toEqual({
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: '¿Quién eres?',
        requestedSchema: {
          type: 'object',
          properties: {
            nombre: { type: 'string', maxLength: 20 },
            edad: expect.objectContaining({ type: 'integer' }),
            color: { type: 'string', enum: ['rojo', 'azul'] },
            dias: { type: 'array', items: { type: 'string', enum: ['lunes', 'martes'] } },
          },
          required: ['nombre', 'color', 'dias'],
        },
      },
      needs: { elicitation: {} },
    });
  });

  it.each([
    ['an object in it', z.strictObject({ dentro: z.strictObject({ a: z.string() }) })],
    ['a list of texts', z.strictObject({ textos: z.array(z.string()) })],
    ['no field', z.strictObject({})],
  ])('cannot have %s', (_what, schema) => {
    expect(() => new Form<unknown>(schema)).toThrow(TypeError);
  });
});

describe('whether a client can answer', () => {
  const question = form.question('?');
  it.each([
    [{}, false],
    [{ elicitation: {} }, true],
    [{ elicitation: { form: {} } }, true],
    [{ elicitation: { form: {}, url: {} } }, true],
    [{ elicitation: { url: {} } }, false],
    [{ elicitation: 'sí' }, false],
    [{ sampling: {} }, false],
  ])('a form, with %j: %s', (capabilities, can) => {
    expect(canAnswer(capabilities, question)).toBe(can);
  });

  it('each of the other kinds needs its own capability', () => {
    const url = visit('Inicia sesión.', 'https://login.example.com/');
    expect([canAnswer({ elicitation: {} }, url), canAnswer({ elicitation: { url: {} } }, url)]).toEqual([false, true]);
    const model = sample({ messages: [], maxTokens: 1 });
    expect([canAnswer({ elicitation: {} }, model), canAnswer({ sampling: {} }, model)]).toEqual([false, true]);
    expect([canAnswer({ sampling: {} }, listRoots()), canAnswer({ roots: {} }, listRoots())]).toEqual([false, true]);
  });

  it('asking for nothing is a bug of the tool', () => {
    expect(() => ask({})).toThrow(TypeError);
  });
});

describe('the answers', () => {
  const content = { nombre: 'Ana', color: 'azul', dias: [] };
  const accepted = (answer: unknown) => new Conversation({}, { k: answer }, undefined).accepted('k', form);

  it('are the accepted content, checked against the form', () => {
    expect(accepted({ action: 'accept', content })).toEqual(content);
  });

  it.each([
    ['declined', { action: 'decline' }],
    ['cancelled', { action: 'cancel', content }],
    ['of another shape', { action: 'accept', content: { nombre: 1 } }],
    ['with a field too many', { action: 'accept', content: { ...content, extra: 1 } }],
    ['no object', 12345],
    ['null', null],
    ['a list', []],
  ])('are none when %s', (_how, answer) => {
    expect(accepted(answer)).toBeUndefined();
  });

  it('are looked up among what was sent, and nowhere else', () => {
    expect(new Conversation({}, {}, undefined).answer('constructor')).toBeUndefined();
    expect(new Conversation({}, { k: { roots: [] } }, undefined).answer('k')).toEqual({ roots: [] });
  });
});
