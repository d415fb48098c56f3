import { describe, expect, it } from '@jest/globals';
import { UriTemplate } from '../../../src/mcp/uri-template.js';

describe('a URI template', () => {
  const template = new UriTemplate('data://clientes/{id}/ficha-{parte}.json');

  it('finds its variables, decoded', () => {
    expect(template.names).toEqual(['id', 'parte']);
    expect(template.match('data://clientes/V1%2F2%20a/ficha-saldo.json')).toEqual({ id: 'V1/2 a', parte: 'saldo' });
  });

  it.each([
    'data://clientes//ficha-saldo.json',
    'data://clientes/a/b/ficha-saldo.json',
    'data://clientes/a/ficha-saldoXjson',
    'data://clientes/a/ficha-saldo.json?x=1',
    'x data://clientes/a/ficha-saldo.json',
    'data://clientes/%E0%A4%A/ficha-saldo.json',
    `data://clientes/${'a'.repeat(257)}/ficha-saldo.json`,
    `data://clientes/a/ficha-${'a'.repeat(3000)}.json`,
  ])('does not match %.60s', (uri) => {
    expect(template.match(uri)).toBeUndefined();
  });

  it.each([
    ['data://clientes/todos', 'no {variable}'],
    ['data://{a}/{a}', 'twice'],
    ['data://x/{a}{b}', 'nothing between them'],
    ['data://x/{+a}', '{name} only'],
    ['data://x/{a*}', '{name} only'],
    ['clientes/{a}', 'absolute URI'],
  ])('%s is refused', (text, why) => {
    expect(new UriTemplate(text).problems().join()).toContain(why);
  });

  it('answers within a bound, also to what is made to make it slow', () => {
    const slow = new UriTemplate('x://{a}-{b}-{c}-{d}z');
    const started = performance.now();
    expect(slow.match(`x://${'-'.repeat(2000)}`)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
