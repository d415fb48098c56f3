// @ts-check
/** Loaded into a server (`--import`): SIGUSR2 becomes an exception that nobody catches. */
process.on('SIGUSR2', () => {
  throw new Error('provoked');
});
