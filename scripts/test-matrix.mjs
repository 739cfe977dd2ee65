// Runs the test suite on other Nodes and with the code for other platforms: `npm run test:matrix [-- LEG...]`.
import { execFileSync, spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';

const nodes = join(import.meta.dirname, '../test/nodes');
const LEGS = {
  portable: { env: { LOOKFIRST_GUARANTEE: 'best-effort' } },
  node22: { node: '22' },
  node24: { node: '24' },
};

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(LEGS, name));
if (unknown.length > 0) {
  process.stderr.write(`unknown: ${unknown.join(', ')}; there are ${Object.keys(LEGS).join(', ')}\n`);
  process.exit(64);
}

const failed = [];
for (const [name, leg] of Object.entries(LEGS)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  process.stdout.write(`\n== ${name}\n`);
  if (run(leg) !== 0) failed.push(name);
}
if (failed.length > 0) process.stdout.write(`failed: ${failed.join(', ')}\n`);
process.exit(failed.length > 0 ? 1 : 0);

function run({ node, env = {} }) {
  const program = node === undefined ? process.execPath : installed(node);
  // Tests start programs by name, too: these must be of the same Node.
  const path = `${join(program, '..')}${delimiter}${process.env['PATH']}`;
  const { status } = spawnSync(program, ['node_modules/vitest/vitest.mjs', 'run'], {
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
