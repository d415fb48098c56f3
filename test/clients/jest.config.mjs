import config from '../../jest.config.mjs';

/** `npm run test:clients`: the toolchain and the database of the other tests, over the clients installed in this folder. */
const { coverageThreshold: _threshold, ...shared } = config;

/** @type {import('jest').Config} */
export default {
  ...shared,
  rootDir: '../..',
  roots: ['<rootDir>/test/clients'],
  testPathIgnorePatterns: ['/node_modules/'],
  modulePathIgnorePatterns: ['/test/clients/node_modules/'],
  testTimeout: 120_000,
};
