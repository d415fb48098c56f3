/** Ends the test command with the one line that CI reads: `N passed, N failed` (`, N skipped` when there are any). */
export default class ClosingLineReporter {
  /**
   * @param {Set<unknown>} _contexts
   * @param {import('@jest/reporters').AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    // A suite that could not even be loaded has no failed tests of its own, and must not look like success.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
    // Jest's own reporters write to stderr; the line goes last, after them.
    process.stderr.write('', () => process.stdout.write(`${line}\n`));
  }
}
