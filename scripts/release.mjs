// Checks everything, sets the version and builds the package: `npm run release -- VERSION`. It stops before publishing.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [version = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) fail('name the version: npm run release -- 0.2.0');
if (output('git', 'status', '--porcelain') !== '') fail('commit or stash your changes first');
const changelog = readFileSync('CHANGELOG.md', 'utf8');
if (!changelog.includes('## Unreleased')) fail('CHANGELOG.md has no section "Unreleased"');

setVersion('package.json', (manifest) => ({ ...manifest, version }));
setVersion('package-lock.json', (lock) => ({
  ...lock,
  version,
  packages: { ...lock.packages, '': { ...lock.packages[''], version } },
}));
setVersion('server.json', (server) => ({
  ...server,
  version,
  packages: server.packages.map((each) => ({ ...each, version })),
}));
setVersion('packaging/mcpb/manifest.json', (manifest) => ({ ...manifest, version }));
const today = new Date().toISOString().slice(0, 10);
writeFileSync('CHANGELOG.md', changelog.replace('## Unreleased', `## ${version} (${today})`));

run('npm', 'run', 'check');
run('npm', 'run', 'test:matrix');
run('npm', 'pack');
process.stdout.write(`
lookfirst-${version}.tgz is ready. To publish it:
  git commit -am "release: ${version}" && git tag v${version}
  npm publish lookfirst-${version}.tgz --provenance
  git push && git push --tags
`);

function setVersion(file, change) {
  writeFileSync(file, `${JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8'))), null, 2)}\n`);
}

function run(command, ...args) {
  execFileSync(command, args, { stdio: 'inherit' });
}

function output(command, ...args) {
  return execFileSync(command, args, { encoding: 'utf8' }).trim();
}

function fail(reason) {
  process.stderr.write(`${reason}\n`);
  process.exit(64);
}
