import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { loadPolicy, type LoadedPolicy } from '../../../../src/governance/policy-file/load-policy.js';
import { MAX_ARTEFACT_BYTES } from '../../../../src/governance/policy-file/yaml-text.js';
import { artefacts, example } from '../core/artefacts.js';

const codes = ({ diagnostics }: LoadedPolicy): readonly string[] => diagnostics.map(({ code }) => code);
const TEXT = stringify(example());

describe('an artefact that is no YAML', () => {
  it.each([
    ['an open bracket', 'version: [1'],
    ['a repeated key', 'version: 1\nversion: 1'],
    ['several documents', `${TEXT}---\n${TEXT}`],
    ['a tag that nobody knows', 'version: !nuestro 1'],
    ['a directive that nobody knows', '%NUESTRO x\n---\nversion: 1'],
    ['an alias without its anchor', 'version: *nada'],
    ['a tab as indentation', 'a:\n\t- b'],
    ['an open quote', "version: 'CENTINELA"],
  ])('is a syntax error with a place: %s', (_what, text) => {
    const loaded = loadPolicy(text);
    expect(loaded.policy).toBeUndefined();
    expect(new Set(codes(loaded))).toEqual(new Set(['yaml_syntax']));
    for (const { path, position } of loaded.diagnostics) {
      expect(path).toBe('');
      expect(position).toEqual({ line: expect.any(Number), column: expect.any(Number), offset: expect.any(Number) });
    }
  });

  it('never quotes the text, which may hold a secret in the wrong place', () => {
    for (const text of [
      'secret: {ref: CENTINELA',
      "a: 'CENTINELA",
      'a: *CENTINELA',
      'a: CENTINELA: b',
      '- CENTINELA\nb',
      '!CENTINELA a',
      '@CENTINELA',
    ])
      expect(JSON.stringify(loadPolicy(text).diagnostics)).not.toContain('CENTINELA');
  });

  it('is refused before it is parsed when it is too large or too deep', () => {
    expect(codes(loadPolicy(`# ${'x'.repeat(MAX_ARTEFACT_BYTES)}`))).toEqual(['yaml_syntax']);
    for (const open of ['[', '{a: ', '- ', '? '])
      expect(new Set(codes(loadPolicy(open.repeat(20_000))))).toEqual(new Set(['yaml_syntax']));
  });

  it('is refused when its aliases multiply', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 9; level += 1)
      lines.push(
        `a${level}: &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
      );
    const [finding] = loadPolicy(lines.join('\n')).diagnostics;
    expect(finding).toMatchObject({ code: 'yaml_syntax', message: 'aliases expand too far', position: { line: 2 } });
    expect(loadPolicy(`a: &a 1\nb: [${Array(101).fill('*a').join(', ')}]`).diagnostics[0]?.message).toBe(
      'more than 100 aliases',
    );
  });

  it('never makes the loader throw', () => {
    const grain = fc.constantFrom(
      'version: 1',
      'grants',
      ':',
      ' ',
      '\n',
      '- ',
      '[',
      ']',
      '{',
      '}',
      '&a',
      '*a',
      '!x',
      "'",
      '"',
      '#',
      '?',
      '%',
      '|',
      '<<',
      '\t',
      '\0',
      '\u{1F600}',
      '---',
    );
    fc.assert(
      fc.property(fc.array(grain, { maxLength: 40 }), (grains) => void loadPolicy(grains.join(''))),
      { numRuns: 500 },
    );
  });
});

describe('an artefact that the schema refuses', () => {
  it.each([
    ['an empty text', '', ''],
    ['a list', '- 1', ''],
    ['another version', TEXT.replace('version: 1', 'version: 2'), '/version'],
    ['a merge key, which is not applied', `<<: {version: 1}\n${TEXT}`, '/<<'],
    ['a literal secret', TEXT.replace('env://LECTOR_DSN', 'CENTINELA'), '/accounts/0/secret/ref'],
    [
      'a secret in the place of a reference',
      TEXT.replace('ref: env://LECTOR_DSN', 'value: CENTINELA'),
      '/accounts/0/secret/value',
    ],
    ['a number for a text', TEXT.replace('cedula: V-1', 'cedula: 5'), '/principals/issuers/1/attributes/cedula'],
    ['a transport of another kind', TEXT.replace('kind: local', 'kind: tcp'), '/upstreams/0/transport/kind'],
    [
      'a field of another transport',
      TEXT.replace('kind: local', 'kind: local\n      url: https://x'),
      '/upstreams/0/transport/url',
    ],
    ['a nothing', TEXT.replace('using: lector', 'using:'), '/grants/0/using'],
  ])('says where: %s', (_what, text, path) => {
    const loaded = loadPolicy(text);
    expect(loaded.policy).toBeUndefined();
    expect(new Set(codes(loaded))).toEqual(new Set(['schema_violation']));
    const finding = loaded.diagnostics.find((diagnostic) => diagnostic.path === path);
    expect(finding?.position).toBeDefined();
    expect(JSON.stringify(loaded.diagnostics)).not.toContain('CENTINELA');
  });

  it('gives the deepest places first, and each finding once', () => {
    const { diagnostics } = loadPolicy(
      'version: 1\ngrants: [{to: {issuer: X, deny: true}, capabilities: []}]\nextra: 1',
    );
    const depths = diagnostics.map(({ path }) => path.split('/').length);
    expect(depths).toEqual([...depths].sort((one, other) => other - one));
    expect(diagnostics[0]?.path).toMatch(/^\/grants\/0\/to\//);
    const written = diagnostics.map(({ path, message }) => `${path} ${message}`);
    expect(new Set(written).size).toBe(written.length);
  });

  it('does not judge the meaning of what it refuses', () => {
    expect(
      codes(loadPolicy(TEXT.replace('version: 1', 'version: 2').replace('using: lector', 'using: nadie'))),
    ).toEqual(['schema_violation']);
  });
});

describe('places', () => {
  const text =
    'version: 1\ncapabilities:\n  - id: a.leer\n  - &b { id: b.leer }\naccounts: []\nprincipals: { issuers: [] }\ngrants: []\n';
  const { locate } = loadPolicy(text);

  it('count lines and columns from one', () => {
    expect(locate('/version')).toEqual({ line: 1, column: 10, offset: 9 });
    expect(locate('/capabilities/0/id')).toEqual({ line: 3, column: 9, offset: 33 });
    expect(locate('/grants')).toMatchObject({ line: 7, column: 9 });
    expect(locate('')).toMatchObject({ line: 1, column: 1 });
  });

  it('are absent for a pointer to nothing', () => {
    for (const path of ['/upstreams', '/grants/0', '/capabilities/01', '/capabilities/-', '/version/x', 'x', '/~2'])
      expect(locate(path)).toBeUndefined();
  });

  it('are found through an alias, and through escaped names', () => {
    const aliased = loadPolicy('a: &x { "b/c~d": 1 }\ne: *x');
    expect(aliased.locate('/e/b~1c~0d')).toEqual(aliased.locate('/a/b~1c~0d'));
    expect(aliased.locate('/a/b~1c~0d')).toMatchObject({ line: 1 });
  });
});

describe('an artefact that compiles', () => {
  it('carries the first twelve digits of its SHA-256, whatever else is wrong', () => {
    expect(loadPolicy('').version).toBe('e3b0c44298fc');
    expect(loadPolicy(TEXT).version).toMatch(/^[0-9a-f]{12}$/);
    expect(loadPolicy(`${TEXT}\n`).version).not.toBe(loadPolicy(TEXT).version);
  });

  it('is the document that was written, in block and in flow style', () => {
    fc.assert(
      fc.property(artefacts, fc.boolean(), (document, flow) => {
        const text = flow ? JSON.stringify(document) : stringify(document, { aliasDuplicateObjects: false });
        const loaded = loadPolicy(text);
        expect(loaded.document).toEqual(document);
        expect(loaded.diagnostics.filter(({ code }) => code === 'schema_violation')).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
