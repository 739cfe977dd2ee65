// Compiles src/ into build/, which tests and benchmarks use, and bundles it into dist/, which the package ships: one
// file for each entry point, its types rolled up, and the chunks that entry points share. The viewer's page is bundled into
// dist/viewer/page/ with everything it needs. The manual page is made from the help of the commands.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { manualPage } from './man.mjs';

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const packages = Object.keys({
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.peerDependencies,
});
const entries = Object.values(manifest.exports)
  .filter((target) => typeof target === 'object')
  .map((target) => basename(target.default, '.js'));

for (const folder of ['build', 'dist']) rmSync(folder, { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
});
await bundle({
  input: { 'bin/lookfirst': 'build/main.js', ...files('.js') },
  chunkFileNames: 'chunks/[name].js',
  // Bundling the lowest layers into few chunks lets a start load three chunks instead of eighty; each file costs a
  // third of a millisecond. Every entry point needs most of these layers anyway.
  codeSplitting: {
    groups: [
      { name: 'start', test: oneOf(loadedBy('config/home.js', 'process/compile-cache.js')), priority: 3 },
      { name: 'serve', test: oneOf(loadedBy('cli/serve-command.js', 'mcp/serve.js')), priority: 2 },
      {
        name: 'session',
        test: oneOf(loadedBy('session/sessions.js', 'store/sqlite/sqlite-store.js')),
        priority: 1,
      },
      { name: 'base', test: /\/build\/(model|report|text)\// },
    ],
    includeDependenciesRecursively: false,
  },
  // Keep the names of functions and classes, so that a stack trace is readable. Keep the lines too, because Node prints
  // the whole line that throws.
  minify: {
    compress: { target: 'node20', keepNames: { function: true, class: true } },
    mangle: { toplevel: false, keepNames: true },
    codegen: { removeWhitespace: false },
  },
  comments: false,
});
await bundle({
  input: files('.d.ts'),
  chunkFileNames: 'types/[name].ts',
  plugins: [dts({ dtsInput: true })],
});
chmodSync('dist/bin/lookfirst.js', 0o755);

await bundlePage('dist/viewer/page');
mkdirSync('dist/man');
writeFileSync('dist/man/lookfirst.1', await manualPage(manifest));

function files(extension) {
  return Object.fromEntries(entries.map((name) => [name, `build/${name}${extension}`]));
}

/** The compiled modules that these load at once, by import statements and not by `import()` calls. */
function loadedBy(...roots) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, from] of text.matchAll(/^(?:import|export)\b[^;()'"]*['"](\.{1,2}\/[^'"]+\.js)['"]/gm))
      visit(resolve(dirname(file), from));
  };
  for (const root of roots) visit(resolve('build', root));
  return found;
}

function oneOf(files) {
  return (id) => files.has(id);
}

async function bundle({ input, plugins, ...output }) {
  const made = await rolldown({
    input,
    plugins,
    platform: 'node',
    external: isPackage,
    preserveEntrySignatures: 'allow-extension',
    checks: { ineffectiveDynamicImport: false },
  });
  await made.write({ dir: 'dist', format: 'esm', ...output });
  await made.close();
}

/** Dependencies stay as npm installed them; only our own modules are bundled. */
function isPackage(id) {
  return id.startsWith('node:') || packages.some((name) => id === name || id.startsWith(`${name}/`));
}

async function bundlePage(page) {
  mkdirSync(page, { recursive: true });
  const script = await rolldown({
    input: 'src/viewer/page/main.ts',
    platform: 'browser',
    tsconfig: 'src/viewer/page/tsconfig.json',
  });
  await script.write({ file: `${page}/app.js`, format: 'iife', minify: true });
  await script.close();
  for (const name of ['index.html', 'icon.svg']) copyFileSync(`src/viewer/page/${name}`, `${page}/${name}`);
  // Remove comments and indentation, which only the sources need.
  const style = readFileSync('src/viewer/page/app.css', 'utf8');
  writeFileSync(
    `${page}/app.css`,
    style
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/\s*\n\s*/g, '\n')
      .trimStart(),
  );
}
