import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Global, Module, type DynamicModule } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { AuditInterceptor } from '../../../src/audit/audit.interceptor.js';
import { AuditModule } from '../../../src/audit/audit.module.js';
import { AuditSettings } from '../../../src/audit/audit.settings.js';
import { AuditTrail } from '../../../src/audit/audit-trail.js';
import { ServiceSettings, type Environment } from '../../../src/config/service.settings.js';
import { FileSinkError } from '../../../src/logging/file-sink.js';
import { JsonLogger } from '../../../src/logging/json-logger.js';
import { LoggingModule } from '../../../src/logging/logging.module.js';
import { callOf, KEY, MemoryLog, MemorySink } from './doubles.js';

@Global()
@Module({})
class Settings {
  static of(audit: AuditSettings, service: ServiceSettings): DynamicModule {
    const providers = [
      { provide: AuditSettings, useValue: audit },
      { provide: ServiceSettings, useValue: service },
    ];
    return { module: Settings, providers, exports: [AuditSettings, ServiceSettings] };
  }
}

async function build(audit: Partial<AuditSettings>, environment: Environment = 'local', level = 'INFO') {
  const stdout = new MemorySink();
  const elsewhere = new MemoryLog();
  const logger = new JsonLogger({ sink: stdout, level, service: 'mcp-corp', version: '2.0.0', environment });
  const module = await Test.createTestingModule({
    imports: [
      Settings.of(Object.assign(new AuditSettings(), audit), Object.assign(new ServiceSettings(), { environment })),
      LoggingModule.register(logger),
      AuditModule.register({ standardOutput: stdout, elsewhere, replica: 'replica-1' }),
    ],
  }).compile();
  return { stdout, elsewhere, trail: module.get(AuditTrail), interceptor: module.get(AuditInterceptor) };
}

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-module-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

describe('AuditModule', () => {
  it('writes to the sink of stdout by default, in the envelope of the log', async () => {
    const { stdout, trail, interceptor } = await build({ hmacSecret: KEY });
    expect(interceptor).toBeInstanceOf(AuditInterceptor);
    trail.begin(callOf()).succeeded({});
    expect(stdout.records).toMatchObject([
      {
        message: 'tool_invocation_started',
        logger: 'mcp_corp.audit',
        level: 'INFO',
        service: 'mcp-corp',
        version: '2.0.0',
      },
      { message: 'tool_invocation_completed', identifier: 'hmac-sha256:d847f45a92a6', environment: 'local' },
    ]);
  });

  it('is not silenced by the level of the log', async () => {
    const { stdout, trail } = await build({ hmacSecret: KEY }, 'local', 'CRITICAL');
    trail.begin(callOf()).succeeded({});
    expect(stdout.records).toHaveLength(2);
  });

  it('writes to a file of its own and nothing of it to stdout', async () => {
    const file = path.join(folder, 'audit.jsonl');
    const { stdout, trail } = await build({ hmacSecret: KEY, file });
    trail.begin(callOf()).succeeded({});
    await expect(trail.flush(60_000)).resolves.toBe(true);
    expect(fs.readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(stdout.records).toHaveLength(0);
  });

  it('does not start without the file it was told to write', async () => {
    await expect(build({ hmacSecret: KEY, file: path.join(folder, 'no', 'audit.jsonl') })).rejects.toThrow(
      FileSinkError,
    );
  });

  it('writes both pseudonyms while the previous key is set', async () => {
    const { stdout, trail } = await build({ hmacSecret: 'clave-secreta-de-prueba-b', hmacSecretPrevious: KEY });
    trail.begin(callOf()).succeeded({});
    expect(stdout.records[1]).toMatchObject({ identifier_previous: 'hmac-sha256:d847f45a92a6' });
  });

  it('warns once when there is no key outside production', async () => {
    const { stdout, trail } = await build({});
    trail.begin(callOf()).succeeded({});
    expect(stdout.records[0]).toMatchObject({
      message: 'audit_hmac_secret_not_configured',
      level: 'WARNING',
      detail: expect.stringContaining('clave') as unknown,
    });
    expect(stdout.records).toHaveLength(3);
    expect(stdout.records[1]).toMatchObject({ identifier: 'hmac-sha256:e8e4c4332e5c' });
  });

  it('does not start without a key in production', async () => {
    await expect(build({}, 'production')).rejects.toThrow(/key/);
  });

  it('refuses calls in production and serves them elsewhere when the trail cannot be written', async () => {
    for (const environment of ['local', 'staging', 'production'] as const) {
      const { stdout, elsewhere, trail } = await build({ hmacSecret: KEY }, environment);
      stdout.full = true;
      const begin = () => trail.begin(callOf());
      if (environment === 'production') expect(begin).toThrow(expect.objectContaining({ code: 'audit_unavailable' }));
      else expect(begin).not.toThrow();
      expect(elsewhere.events).toMatchObject([{ event: 'audit_unavailable' }]);
    }
  });
});
