import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { IsIn, Matches } from 'class-validator';
import { ConfigurationError } from '../../../src/config/problem.js';
import { ServiceSettings } from '../../../src/config/service.settings.js';
import { Setting } from '../../../src/config/setting.js';
import { loadSettings } from '../../../src/config/load-settings.js';
import { load, problemsOf, rendered, store, StoreSettings } from './sections.js';

const fileOf = (files: Record<string, string>) => (path: string) => {
  const text = files[path];
  if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
  return Buffer.from(text);
};

describe('precedence', () => {
  const dotenv = 'MCP_CORP_STORE__DSN=from-dotenv\n';
  const readFile = fileOf({ '/run/dsn': '  from-file \n', '/run/empty': '\n' });

  it('without anything the defaults apply', () => {
    expect({ ...store({}) }).toEqual({ ...new StoreSettings() });
  });

  it('.env beats the default', () => {
    expect(store({}, { dotenv }).dsn).toBe('from-dotenv');
  });

  it('a file beats .env, and its text is trimmed', () => {
    expect(store({ MCP_CORP_STORE__DSN_FILE: '/run/dsn' }, { dotenv, readFile }).dsn).toBe('from-file');
  });

  it('a file named in .env is read too', () => {
    expect(store({}, { dotenv: 'MCP_CORP_STORE__DSN_FILE=/run/dsn', readFile }).dsn).toBe('from-file');
  });

  it('the real variable beats all, and then the file is not even opened', () => {
    const env = { MCP_CORP_STORE__DSN: 'real', MCP_CORP_STORE__DSN_FILE: '/nowhere' };
    expect(store(env, { dotenv, readFile }).dsn).toBe('real');
  });

  it('an empty variable is not set: the file speaks', () => {
    const env = { MCP_CORP_STORE__DSN: '', MCP_CORP_STORE__DSN_FILE: '/run/dsn' };
    expect(store(env, { dotenv, readFile }).dsn).toBe('from-file');
  });

  it('an empty file and an empty `_FILE` are not set: .env speaks', () => {
    expect(store({ MCP_CORP_STORE__DSN_FILE: '/run/empty' }, { dotenv, readFile }).dsn).toBe('from-dotenv');
    expect(store({ MCP_CORP_STORE__DSN_FILE: '' }, { dotenv, readFile }).dsn).toBe('from-dotenv');
  });

  it('an empty text means the default for every type', () => {
    const env = {
      MCP_CORP_STORE__ENABLED: '',
      MCP_CORP_STORE__MAX_POOL_SIZE: '',
      MCP_CORP_STORE__RATE_LIMIT: '',
      MCP_CORP_STORE__NAMES: '',
      MCP_CORP_STORE__KIND: '',
    };
    expect({ ...store(env) }).toEqual({ ...new StoreSettings() });
  });

  it('any field can come from a file, and `…__FILE` as a field of its own is no file of anything', () => {
    const env = {
      MCP_CORP_STORE__MAX_POOL_SIZE_FILE: '/n',
      MCP_CORP_STORE__FILE: '/var/x',
      MCP_CORP_STORE__FILE_FILE: '',
    };
    const settings = store(env, { readFile: fileOf({ '/n': '7\n' }) });
    expect([settings.maxPoolSize, settings.file]).toEqual([7, '/var/x']);
  });

  it('names without our prefix are never touched', () => {
    const readFile = () => {
      throw new Error('opened');
    };
    expect(store({ OTHER_FILE: '/etc/passwd', PORT: 'x' }, { readFile }).dsn).toBeUndefined();
  });

  it('a byte order mark does not become part of the first name of .env', () => {
    expect(store({}, { dotenv: `\uFEFF${dotenv}` }).dsn).toBe('from-dotenv');
  });

  it('what a file holds is never put into the environment given', () => {
    const env: Record<string, string> = Object.freeze({ MCP_CORP_STORE__DSN_FILE: '/run/dsn' });
    store(env, { readFile });
    expect(Object.keys(env)).toEqual(['MCP_CORP_STORE__DSN_FILE']);
    expect(process.env.MCP_CORP_STORE__DSN).toBeUndefined();
  });
});

describe('problems', () => {
  it('are told all at once, each with its variable', () => {
    const problems = problemsOf(() =>
      store({
        MCP_CORP_PORT: '99999',
        MCP_CORP_STORE__ENABLED: 'yes',
        MCP_CORP_STORE__MAX_POOL_SIZE: '0',
        MCP_CORP_STORE__TIMEOUT_SECONDS: 'nan',
        MCP_CORP_STORE__KIND: 'green',
        MCP_CORP_STORE__DSM: 'x',
      }),
    );
    expect(rendered(problems).split('\n')).toEqual([
      'MCP_CORP_PORT must not be greater than 65535',
      'MCP_CORP_STORE__TIMEOUT_SECONDS must be a number',
      'MCP_CORP_STORE__MAX_POOL_SIZE must not be less than 1',
      'MCP_CORP_STORE__KIND must be one of the following values: red, blue',
      'MCP_CORP_STORE__DSN must be set when the store is enabled',
      'MCP_CORP_STORE__DSM is not a known variable; did you mean MCP_CORP_STORE__DSN?',
    ]);
  });

  it('are the message of the error, one per line', () => {
    const problem = { variable: 'MCP_CORP_X', problem: 'must be set' };
    expect(new ConfigurationError([problem, problem]).message).toBe('MCP_CORP_X must be set\nMCP_CORP_X must be set');
  });

  it('of a file that cannot be read keep the reference text, without the path, and blame nothing twice', () => {
    const env = { MCP_CORP_STORE__ENABLED: '1', MCP_CORP_STORE__DSN_FILE: '/secret/place' };
    expect(rendered(problemsOf(() => store(env, { readFile: fileOf({}) })))).toBe(
      'MCP_CORP_STORE__DSN_FILE apunta a un archivo pero no se pudo leer: no such file or directory (ENOENT)',
    );
  });

  it('of a file that is too large or not UTF-8 say so', () => {
    const env = { MCP_CORP_STORE__DSN_FILE: '/f' };
    const reasonOf = (bytes: Uint8Array) => rendered(problemsOf(() => store(env, { readFile: () => bytes })));
    expect(reasonOf(Buffer.alloc(65_537, 'a'))).toMatch(/no se pudo leer: is larger than 65536 bytes$/);
    expect(reasonOf(Buffer.from([0xff, 0xfe, 0x41]))).toMatch(/no se pudo leer: is not UTF-8 text$/);
    expect(reasonOf(Buffer.from('s\0e\0c\0'))).toMatch(/no se pudo leer: is not UTF-8 text$/);
    expect(store(env, { readFile: () => Buffer.alloc(65_536, 'a') }).dsn).toHaveLength(65_536);
  });

  it('of a variable of megabytes are told like any other', () => {
    const env = { MCP_CORP_STORE__DSN: 'x'.repeat(65_537) };
    expect(rendered(problemsOf(() => store(env)))).toBe('MCP_CORP_STORE__DSN must not be longer than 65536 bytes');
  });

  it('never hold a value, also when a validator quotes it', () => {
    class ChattySettings {
      static readonly section = 'CHATTY';
      @Setting({ doc: 'x', secret: true })
      @Matches(/^ok$/, { message: '$property was $value' })
      secret?: string;
      @Setting({ doc: 'x' })
      @IsIn(['a'], { message: 'is $value, which is wrong' })
      kind = 'a';
    }
    const values = ['hunter2-hunter2', 'postgresql://app:clave@10.1.2.3/db', '/run/secrets/here', 'maría'];
    for (const value of values) {
      const env = {
        MCP_CORP_CHATTY__SECRET: value,
        MCP_CORP_CHATTY__KIND: value,
        MCP_CORP_STORE__ENABLED: value,
        MCP_CORP_STORE__MAX_POOL_SIZE: value,
        MCP_CORP_STORE__KIND: value,
        MCP_CORP_STORE__DSN_FILE: value,
        MCP_CORP_STORE: `{"dsn":"${value}"}`,
        MCP_CORP_ENVIRONMENT: value,
        MCP_CORP_HOST: `${value} `,
        MCP_CORP_LOG_LEVEL: value,
        MCP_CORP_WHAT: value,
        [`MCP_CORP_STORE__DSN ${value}`]: 'x',
      };
      const failure = () => load(env, {}, [StoreSettings, ChattySettings]);
      const problems = problemsOf(failure);
      expect(problems.length).toBeGreaterThanOrEqual(Object.keys(env).length);
      expect(rendered(problems).toLowerCase()).not.toContain(value.toLowerCase());
      try {
        failure();
      } catch (error) {
        expect(inspect(error, { depth: 10 }).toLowerCase()).not.toContain(value.toLowerCase());
      }
    }
  });

  it('of our own making are not taken for the operator’s', () => {
    class Bare {
      static readonly section = 'BARE';
      forgotten = 1;
    }
    class Twin {
      static readonly section = 'STORE';
      @Setting({ doc: 'x' })
      dsn?: string;
    }
    expect(() => load({}, {}, [Bare])).toThrow(new TypeError('Bare.forgotten has no @Setting'));
    expect(() => load({}, {}, [StoreSettings, Twin])).toThrow(
      new TypeError('MCP_CORP_STORE__DSN belongs to both StoreSettings and Twin'),
    );
  });
});

describe('the loaded settings', () => {
  it('are given by class, service included, and unknown classes are refused', () => {
    class Stranger {
      static readonly section = 'STRANGER';
    }
    const settings = load({ MCP_CORP_SERVICE_NAME: 'núcleo' });
    expect(settings.get(ServiceSettings).serviceName).toBe('núcleo');
    expect(settings.has(StoreSettings)).toBe(true);
    expect(settings.has(Stranger)).toBe(false);
    expect(() => settings.get(Stranger)).toThrow('Stranger is not among the loaded sections');
  });

  it('cannot be changed', () => {
    const settings = store({});
    expect(() => (settings.maxPoolSize = 99)).toThrow(TypeError);
  });

  it('do not tell their secrets when printed or serialised whole', () => {
    const settings = store({ MCP_CORP_STORE__DSN: 'store://ana:clave@host/x' });
    expect(settings.dsn).toBe('store://ana:clave@host/x');
    const printed = inspect(settings) + JSON.stringify({ settings }) + inspect({ deep: [settings] }, { depth: 9 });
    expect(printed).not.toContain('clave');
    expect(printed).toContain('[hidden]');
  });

  it('include what a section inherits, under the section’s own names', () => {
    class ArchiveSettings extends StoreSettings {
      static override readonly section = 'ARCHIVE';
      @Setting({ doc: 'x' })
      shelf = 'top';
    }
    const env = {
      MCP_CORP_ARCHIVE__MAX_POOL_SIZE: '3',
      MCP_CORP_ARCHIVE__SHELF: 'low',
      MCP_CORP_STORE__MAX_POOL_SIZE: '4',
    };
    const settings = loadSettings(env, [StoreSettings, ArchiveSettings]);
    expect(settings.get(ArchiveSettings)).toMatchObject({ maxPoolSize: 3, shelf: 'low' });
    expect(settings.get(StoreSettings).maxPoolSize).toBe(4);
    expect(rendered(problemsOf(() => load({ MCP_CORP_ARCHIVE__MAX_POOL_SIZE: '0' }, {}, [ArchiveSettings])))).toBe(
      'MCP_CORP_ARCHIVE__MAX_POOL_SIZE must not be less than 1',
    );
  });
});
