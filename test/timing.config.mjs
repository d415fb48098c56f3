import config from '../jest.config.mjs';

/**
 * Suites that judge by the clock: how late a refusal is, how soon a source is back. `npm run test:timing` runs them one
 * after the other and nothing beside them; under `npm test` they would measure the suite that runs on the other core.
 */
const { coverageThreshold: _threshold, ...shared } = config;

/** @type {import('jest').Config} */
export default {
  ...shared,
  rootDir: '..',
  roots: ['<rootDir>/test/timing'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};
