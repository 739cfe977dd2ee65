// Builds and checks everything that is published: `npm run package`. The results are in packages/.
//   lookfirst-VERSION.tgz              the npm package
//   lookfirst-VERSION.mcpb             the bundle for Claude Desktop, with the package and its dependencies
//   claude-code-plugin, gemini-extension, opencode.js, server.json, Dockerfile
// Nothing is uploaded.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const MAX_BYTES = 570_000;
const MAX_FILES = 200;
const out = join(import.meta.dirname, '../packages');
process.chdir(join(import.meta.dirname, '..'));
const { version, name, mcpName, bin, man, exports } = json('package.json');

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
npmPackage();
plugins();
registryEntry();
bundle();
container();
process.stdout.write(
  `\npackages/ holds version ${version}:\n${readdirSync(out)
    .map((file) => `  ${file}`)
    .join('\n')}\n`,
);

function npmPackage() {
  const listed = output('npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', out);
  const [{ size, files }] = Object.values(JSON.parse(listed));
  check(size <= MAX_BYTES, `the package has ${size} bytes, more than ${MAX_BYTES}`);
  check(files.length <= MAX_FILES, `the package has ${files.length} files, more than ${MAX_FILES}`);
  const packed = new Set(files.map(({ path }) => path));
  const targets = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  );
  for (const path of [bin.lookfirst, ...man, ...targets])
    check(packed.has(path.replace('./', '')), `the package lacks ${path}`);
  process.stdout.write(`npm package: ${size} bytes, ${files.length} files\n`);
}

/**
 * Checks and copies the plugins. They start the published package, so they contain only its name
 * and version.
 */
function plugins() {
  for (const [folder, manifest] of [
    ['claude-code-plugin', '.claude-plugin/plugin.json'],
    ['gemini-extension', 'gemini-extension.json'],
  ]) {
    const found = json(`packaging/${folder}/${manifest}`).version;
    check(found === version, `${folder} has version ${found}, but package.json has ${version}`);
    const hooks = readFileSync(`packaging/${folder}/hooks/hooks.json`, 'utf8');
    check(hooks.includes('bin/lookfirst-hook'), `${folder} does not call its hook`);
    check(
      (statSync(`packaging/${folder}/bin/lookfirst-hook`).mode & 0o111) !== 0,
      `packaging/${folder}/bin/lookfirst-hook is not executable; run chmod +x on it`,
    );
    cpSync(`packaging/${folder}`, join(out, folder), { recursive: true });
  }
  const plugin = exports['./opencode'].default;
  const loaded = output(
    process.execPath,
    '-e',
    `import(${JSON.stringify(join(process.cwd(), plugin))}).then((m) => console.log(Object.keys(m).length))`,
  );
  check(Number(loaded) > 0, 'the opencode plugin exports nothing');
  writeFileSync(join(out, 'opencode.js'), `export * from '${name}/opencode';\n`);
}

function registryEntry() {
  const server = json('server.json');
  check(server.name === mcpName, `server.json has the name ${server.name}, but package.json has ${mcpName}`);
  for (const { version: found } of [server, ...server.packages])
    check(found === version, `server.json has version ${found}, but package.json has ${version}`);
  check(server.description.length <= 100, 'server.json: a description has at most 100 characters');
  cpSync('server.json', join(out, 'server.json'));
}

/** Builds the bundle: a zip file with the manifest and the installed package. */
function bundle() {
  const manifest = json('packaging/mcpb/manifest.json');
  check(
    manifest.version === version,
    `the bundle has version ${manifest.version}, but package.json has ${version}`,
  );
  const folder = join(out, 'mcpb');
  mkdirSync(folder);
  cpSync('packaging/mcpb/manifest.json', join(folder, 'manifest.json'));
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'lookfirst-bundle', private: true, version }),
  );
  const tarball = join(out, `${name}-${version}.tgz`);
  execFileSync(
    'npm',
    ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', tarball],
    {
      cwd: folder,
      stdio: 'ignore',
    },
  );
  check(existsSync(join(folder, manifest.server.entry_point)), 'the bundle lacks its entry point');
  const started = output(process.execPath, join(folder, manifest.server.entry_point), 'version');
  check(started === version, `the bundle starts version ${started}`);
  // A bundle is a zip file. It contains the ripgrep of this platform; other platforms use one on PATH.
  execFileSync('zip', ['-qr', join(out, `${name}-${version}.mcpb`), '.'], { cwd: folder });
  rmSync(folder, { recursive: true });
}

function container() {
  const text = readFileSync('packaging/Dockerfile', 'utf8');
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) => paths.split(' '));
  for (const path of copied) check(existsSync(path), `the Dockerfile copies ${path}, which is not there`);
  cpSync('packaging/Dockerfile', join(out, 'Dockerfile'));
}

function check(holds, problem) {
  if (holds) return;
  process.stderr.write(`error: ${problem}\n`);
  process.exit(1);
}

function json(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function output(command, ...args) {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}
