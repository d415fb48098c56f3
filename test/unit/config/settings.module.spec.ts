import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { Test, type TestingModule } from '@nestjs/testing';
import { ServiceSettings } from '../../../src/config/service.settings.js';
import { SettingsModule } from '../../../src/config/settings.module.js';
import { load, StoreSettings } from './sections.js';

@Injectable()
class Shop {
  constructor(
    readonly store: StoreSettings,
    readonly service: ServiceSettings,
    readonly config: ConfigService,
  ) {}
}

@Module({ providers: [Shop] })
class ShopModule {}

let nest: TestingModule | undefined;
afterEach(async () => nest?.close());

describe('SettingsModule', () => {
  it('gives each section under its class, and all to ConfigService, in every module', async () => {
    const settings = load({ MCP_CORP_STORE__DSN: 'store://x', MCP_CORP_SERVICE_NAME: 'tienda' });
    const before = { ...process.env };
    nest = await Test.createTestingModule({ imports: [SettingsModule.register(settings), ShopModule] }).compile();
    const shop = nest.get(Shop, { strict: false });
    expect(shop.store).toBe(settings.get(StoreSettings));
    expect(shop.service.serviceName).toBe('tienda');
    expect(shop.config.get('store.dsn')).toBe('store://x');
    expect(shop.config.get('service.port')).toBe(8000);
    expect({ ...process.env }).toEqual(before);
  });

  it('lets nobody reach the environment through ConfigService', async () => {
    nest = await Test.createTestingModule({ imports: [SettingsModule.register(load({}))] }).compile();
    expect(nest.get(ConfigService, { strict: false }).get('PATH')).toBeUndefined();
  });
});
