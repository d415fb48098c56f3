// @ts-check
/**
 * Loaded into every measured process (`--import`): tells the CPU time that the process itself has used, garbage collector
 * and other threads included, and ends it with its owner. It does nothing between two questions.
 */
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system });
});
process.on('disconnect', () => process.exit(0));
