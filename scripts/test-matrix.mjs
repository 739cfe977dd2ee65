// Runs tests in ways that `npm test` leaves out: with other versions of Node, with the code for
// systems without strong path guarantees, and with large tools. The first two ways run only the
// folders whose results can differ. Use: `npm run test:matrix [-- LEG...]`. A leg is one key of
// `LEGS`.
import { execFileSync, spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

const nodes = join(import.meta.dirname, '../test/nodes');
/** Tests that depend on Node: SQLite (built in from 22.13), streams, HTTP, child processes, file handles. */
const BY_NODE = [
  'src/store',
  'src/disk',
  'src/lock',
  'src/mcp',
  'src/wire',
  'test/store',
  'test/mcp',
  'test/e2e/serve',
  'test/e2e/cli-log',
];
/** Tests that depend on the guarantee, which says how safely paths are resolved and files are replaced. */
const BY_GUARANTEE = [
  'src/workspace',
  'src/disk',
  'src/gate',
  'src/session',
  'test/containment',
  'test/session',
  'test/undo/library.test.ts',
  'test/undo/elsewhere.test.ts',
  'test/scenarios',
  'test/presets',
];
const LEGS = {
  portable: { env: { LOOKFIRST_GUARANTEE: 'best-effort', TEST_ON_DISK: '1' }, parts: BY_GUARANTEE },
  node22: { node: '22', parts: BY_NODE },
  node24: { node: '24', parts: BY_NODE },
  'large-tools': { parts: ['--project', 'large-tools'] },
};

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(LEGS, name));
if (unknown.length > 0) {
  process.stderr.write(
    `error: unknown leg '${unknown.join(', ')}'. Choose from ${Object.keys(LEGS).join(', ')}.\n`,
  );
  process.exit(64);
}

for (const [name, leg] of Object.entries(LEGS)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  process.stdout.write(`\n== ${name}\n`);
  if (run(leg) === 0) continue;
  // Stop here, so that the end of the output says which test failed.
  process.stdout.write(`failed: ${name}\n`);
  process.exit(1);
}

function run({ node, env = {}, parts }) {
  const program = node === undefined ? process.execPath : installed(node);
  // Tests also start programs by name; these must use the same Node.
  const path = `${join(program, '..')}${delimiter}${process.env['PATH']}`;
  const { status } = spawnSync(program, ['node_modules/vitest/vitest.mjs', 'run', ...parts], {
    stdio: 'inherit',
    env: { ...process.env, PATH: path, ...env },
  });
  return status;
}

function installed(version) {
  const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  execFileSync('npm', npm, { cwd: nodes, stdio: 'inherit' });
  return join(nodes, 'node_modules', `node-${version}-${process.arch}`, 'bin/node');
}
