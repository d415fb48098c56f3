/** The oldest Node that has all that we use; `engines` of package.json says the same. Major and minor. */
export const OLDEST_NODE = [22, 15] as const;

/** As when the server cannot start. */
const EXIT_CODE = 3;

/**
 * Ends a process whose Node is too old, before anything is loaded that would fail there with a stack trace. Imports
 * nothing, and is written in what old versions understand.
 */
export function refuseOldNode(target: NodeJS.Process): void {
  const [major = 0, minor = 0] = target.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  target.stderr.write(
    `mcp-corp needs Node ${oldestMajor}.${oldestMinor} or later, and this is ${target.versions.node}. ` +
      'Where the project is installed, `npm start` and `npx mcp-corp` use the Node that came with it.\n',
  );
  target.exit(EXIT_CODE);
}
