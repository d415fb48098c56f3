import config from '../../jest.config.mjs';

/** `npm run conformance`: the toolchain of the other tests, without their database; its spec is no part of `npm test`. */
const { globalSetup: _setup, globalTeardown: _teardown, coverageThreshold: _threshold, ...shared } = config;

/** @type {import('jest').Config} */
export default {
  ...shared,
  rootDir: '../..',
  roots: ['<rootDir>/test/conformance'],
  testMatch: ['**/*.suite.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  modulePathIgnorePatterns: ['/test/conformance/node_modules/'],
  testTimeout: 300_000,
};
