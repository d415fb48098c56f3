// @ts-check
/** Stops the server of global-setup.mjs. When Jest is killed instead, the server's own guard does the same. */
export default async function globalTeardown() {
  const { testPostgres } = /** @type {{ testPostgres?: import('../../scripts/postgres.mjs').RunningPostgres }} */ (
    globalThis
  );
  await testPostgres?.stop();
}
