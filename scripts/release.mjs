// Sets the version, checks everything and builds the packages: `npm run release -- VERSION`. It stops before publishing.
// `--dry-run` changes no file and runs no check: it shows what would be done.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const args = process.argv.slice(2);
const isDryRun = args.includes('--dry-run');
const [version = ''] = args.filter((arg) => !arg.startsWith('--'));
if (!/^\d+\.\d+\.\d+$/.test(version)) fail('error: which version? npm run release -- 0.2.0');
const changelog = readFileSync('CHANGELOG.md', 'utf8');
const heading = new RegExp(`^## ${version.replaceAll('.', '\\.')}(?: \\(.*\\))?$`, 'm');
if (!heading.test(changelog)) fail(`error: CHANGELOG.md has no section "## ${version}"`);
if (!isDryRun && output('git', 'status', '--porcelain') !== '')
  fail('error: the working tree has changes; commit or stash them first');

/** Every file that names the version, and the function that sets it there. */
const VERSIONED = {
  'package.json': (manifest) => ({ ...manifest, version }),
  'package-lock.json': (lock) => ({
    ...lock,
    version,
    packages: { ...lock.packages, '': { ...lock.packages[''], version } },
  }),
  'server.json': (server) => ({
    ...server,
    version,
    packages: server.packages.map((each) => ({ ...each, version })),
  }),
  'packaging/mcpb/manifest.json': (manifest) => ({ ...manifest, version }),
  'packaging/claude-code-plugin/.claude-plugin/plugin.json': (plugin) => ({ ...plugin, version }),
  'packaging/gemini-extension/gemini-extension.json': (extension) => ({ ...extension, version }),
};
for (const [file, change] of Object.entries(VERSIONED)) setVersion(file, change);
const today = new Date().toISOString().slice(0, 10);
write('CHANGELOG.md', changelog.replace(heading, `## ${version} (${today})`));

run('npm', 'run', 'check');
run('npm', 'run', 'test:matrix');
run('npm', 'run', 'attack');
const verb = isDryRun ? 'would be' : 'is';
process.stdout.write(`
packages/lookfirst-${version}.tgz ${verb} ready. Pushing the tag publishes it (.github/workflows/release.yml):
  git commit -am "release: ${version}" && git tag v${version}
  git push && git push --tags
`);

function setVersion(file, change) {
  write(file, `${JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8'))), null, 2)}\n`);
}

function write(file, text) {
  if (readFileSync(file, 'utf8') === text) return process.stdout.write(`${file}: unchanged\n`);
  process.stdout.write(`${file}: ${isDryRun ? 'would be changed' : 'changed'}\n`);
  if (!isDryRun) writeFileSync(file, text);
}

function run(command, ...words) {
  process.stdout.write(`${isDryRun ? 'would run' : 'running'} ${[command, ...words].join(' ')}\n`);
  if (!isDryRun) execFileSync(command, words, { stdio: 'inherit' });
}

function output(command, ...words) {
  return execFileSync(command, words, { encoding: 'utf8' }).trim();
}

function fail(reason) {
  process.stderr.write(`${reason}\n`);
  process.exit(64);
}
