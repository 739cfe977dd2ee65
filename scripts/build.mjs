// Builds the project. Compiles src/ into build/, for tests and benchmarks, and bundles build/ into
// dist/, for the package. dist/ holds CommonJS chunks, the program that loads them, and for each
// entry point one module and one file of types.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { minifySync, parseSync, Visitor } from 'rolldown/utils';
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

// Keep the names of functions and classes, so that a stack trace is readable. Keep the white space,
// because the functions below that rewrite chunks rely on it; `dense` removes it at the end.
const SMALL = {
  minify: {
    compress: { target: 'node20', keepNames: { function: true, class: true } },
    mangle: { toplevel: false, keepNames: true },
    codegen: { removeWhitespace: false },
  },
  comments: false,
};
// Entry points that stay ES modules, and their modules that do. `langchain` and `openai` must use the same
// framework modules as their caller. `opencode` must be one file, because `init` copies it.
const MODULES = {
  langchain: ['langchain.js', 'adapters/langchain.js'],
  openai: ['openai.js', 'adapters/openai-tools.js'],
  opencode: [],
};
/** Modules that every command of the command line loads. */
const COMMAND_LINE = ['cli/run-cli.js', 'cli/commands/version.js'];
/** Modules of Node whose functions are called in nearly every operation. */
const HOT = ['node:fs', 'node:path', 'node:crypto'];
/** Packages that are loaded at their first use, because few starts need them. */
const LATE = ['node:child_process', 'node:fs/promises', 'node:zlib', 'fast-myers-diff', 'unbash'];
const parts = Object.entries(MODULES).flatMap(([name, files]) =>
  files.length === 0 ? [] : [partsOf(name, files)],
);

await bundleChunks();
await bundleModules();
await bundle({
  input: entriesIn('.d.ts'),
  dir: 'dist',
  format: 'esm',
  chunkFileNames: 'types/[name].ts',
  plugins: [dts({ dtsInput: true })],
});
for (const name of readdirSync('dist/types')) {
  const file = `dist/types/${name}`;
  writeFileSync(file, withoutInternalComments(readFileSync(file, 'utf8')));
}
await bundleProgram();

await bundlePage('dist/viewer/page');
mkdirSync('dist/man');
writeFileSync('dist/man/lookfirst.1', await manualPage(manifest));

/**
 * Bundles all code except MODULES as CommonJS: Node loads it with less work, and Node 20 can cache only the compiled
 * code of CommonJS.
 */
async function bundleChunks() {
  const made = await bundle({
    input: {
      main: 'build/main.js',
      ...entriesIn('.js', (name) => !Object.hasOwn(MODULES, name)),
      ...Object.fromEntries(parts.map(({ id }) => [id, id])),
    },
    plugins: parts.map(({ id, names }) =>
      virtual(id, [...names].map(([name, file]) => `export { ${name} } from '${file}';`).join('\n')),
    ),
    dir: 'dist/chunks',
    format: 'cjs',
    esModule: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    // Make few chunks, because each adds to the start time. Each chunk holds the modules for one
    // kind of start, such as a command that reads the journal, a server or a hook. A module that
    // fits several groups goes into the chunk with the highest priority.
    codeSplitting: {
      groups: [
        { name: 'cli', test: oneOf(loadedBy(...COMMAND_LINE), /\/build\/cli\//), priority: 6 },
        // Put the module `resident-place`, which hooks and commands about clients both need, into
        // the base chunk. In a hook chunk, it would make the chunks of hooks and commands import
        // each other.
        { name: 'base', test: oneOf(loadedBy(...COMMAND_LINE, 'config/resident-place.js')), priority: 5 },
        { name: 'log', test: oneOf(loadedBy('cli/commands/log.js'), /\/build\/cli\//), priority: 5 },
        {
          name: 'journal',
          test: oneOf(loadedBy('cli/commands/log.js', 'store/sqlite/sqlite-store.js')),
          priority: 4,
        },
        {
          name: 'session',
          test: oneOf(loadedBy('session/sessions.js', 'session/configured.js', 'report/explain.js')),
          priority: 3,
        },
        // A hook call that the resident process answers loads only this chunk.
        {
          name: 'hook-call',
          test: oneOf(loadedBy('hooks/run-hook.js', 'hooks/resident/ask-resident.js')),
          priority: 7,
        },
        { name: 'hook', test: oneOf(loadedBy('hooks/hook-door.js'), /\/build\/hooks\//), priority: 2 },
        { name: 'serve', test: oneOf(loadedBy('cli/commands/serve.js', 'mcp/serve.js')), priority: 1 },
        { name: 'words', test: /\/build\/(model|report|text)\// },
      ],
      includeDependenciesRecursively: false,
    },
    ...SMALL,
  });
  mustNotBeCyclic(made);
  for (const { fileName, code } of made)
    writeFileSync(
      `dist/chunks/${fileName}`,
      inAscii(dense(late(withPlainExports(withLocalNames(withoutPaths(code)))))),
    );
  for (const { name, exports } of made.filter(({ isEntry }) => isEntry))
    if (entries.includes(name)) writeFileSync(`dist/${name}.js`, moduleOver(name, exports));
}

/**
 * Assigns everything that a chunk uses from other chunks and from HOT to a local constant.
 * Otherwise each use would need a property lookup, and for another chunk also a getter. A write
 * makes hundreds of such uses.
 */
function withLocalNames(code) {
  const header =
    /^(?:(?:const|let) .*\brequire\(".*\);\n|\w+ = require_rolldown_runtime.*\n)+/.exec(code)?.[0] ?? '';
  const body = code.slice(header.length);
  const modules = [...header.matchAll(/(\w+) = require\("([^"]+)"\)/g)].filter(
    ([, , from]) => HOT.includes(from) || (from.startsWith('./') && !from.includes('rolldown-runtime')),
  );
  const names = modules.map(([, name]) => name).join('|');
  if (names === '') return code;
  const locals = new Map();
  const local = (_, name, property) => {
    locals.set(`${name}$${property}`, `${name}.${property}`);
    return `${name}$${property}`;
  };
  const renamed = body
    .replace(new RegExp(`\\(0, (${names})\\.([\\w$]+)\\)(?=\\()`, 'g'), local)
    .replace(/(?<![\w$]|[^.]\.)(require_\w+)\.([\w$]+)/g, (whole, name, property) =>
      modules.some(([, known]) => known === name) ? local(whole, name, property) : whole,
    );
  const constants = [...locals].map(([name, value]) => `${name} = ${value}`);
  return constants.length === 0 ? code : `${header}const ${constants.join(', ')};\n${renamed}`;
}

/**
 * Exports values instead of getters. This is safe: no module reassigns an export, and a chunk is
 * loaded after those it imports.
 */
function withPlainExports(code) {
  return code.replace(
    /Object\.defineProperty\(exports, "([\w$]+)", \{\s*enumerable: !0,\s*get: function\(\) \{\s*return ([\w$.]+);\s*\}\s*\}\)/g,
    'exports.$1 = $2',
  );
}

/** Throws if chunks need each other while they are loaded: the constants of one would be undefined. */
function mustNotBeCyclic(made) {
  const needs = new Map(made.map(({ fileName, imports = [] }) => [fileName, imports]));
  const visit = (file, path) => {
    if (path.includes(file)) throw new Error(`chunks need each other: ${[...path, file].join(', ')}`);
    for (const next of needs.get(file) ?? []) visit(next, [...path, file]);
  };
  for (const file of needs.keys()) visit(file, []);
}

/**
 * Removes the lines that name the source file of the code below them, so that the package is
 * smaller.
 */
function withoutPaths(code) {
  return code.replace(/^\/\/ build\/.*\n/gm, '');
}

/** Replaces the packages in LATE by objects that load them when a property is read. */
function late(code) {
  return LATE.reduce(
    (text, name) =>
      text.replace(`require("${name}")`, `new Proxy({}, { get: (_, key) => require("${name}")[key] })`),
    code,
  );
}

/**
 * Shortens names and removes white space, but keeps each statement and each member of a class on its own line. If Node
 * reports an error, it prints the whole line that throws, so that line must be short.
 */
function dense(code) {
  const mangle = { toplevel: true, keepNames: true };
  const options = { module: false, compress: false, mangle, codegen: { removeWhitespace: true } };
  const { code: text, errors } = minifySync('chunk.cjs', code, options);
  if (errors.length > 0) throw new Error(errors[0].message);
  const starts = new Set([0]);
  const add = ({ body }) => {
    for (const { start } of body) starts.add(start);
  };
  const { program } = parseSync('chunk.cjs', text, { sourceType: 'script', astType: 'js' });
  const switchCase = ({ consequent }) => add({ body: consequent });
  new Visitor({
    Program: add,
    BlockStatement: add,
    ClassBody: add,
    SwitchCase: switchCase,
  }).visit(program);
  const cuts = [...starts].sort((a, b) => a - b);
  return `${cuts.map((start, at) => text.slice(start, cuts[at + 1])).join('\n')}\n`;
}

/** Escapes characters outside ASCII: V8 then keeps the text in half the memory, and Node decodes it faster. */
function inAscii(code) {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Bundles the entry points in MODULES as ES modules, which import the shared code from the chunks.
 */
async function bundleModules() {
  const overParts = parts.map(({ id, names, files }) => ({
    ...virtual(id, moduleOver(id, [...names.keys()])),
    resolveId: (wanted, importer) => {
      const isPart = files.includes(importer) && wanted.startsWith('.');
      return isPart && !files.includes(resolve(dirname(importer), wanted)) ? id : undefined;
    },
  }));
  await bundle({
    input: entriesIn('.js', (name) => Object.hasOwn(MODULES, name)),
    plugins: overParts,
    external: (id) => id.endsWith('.cjs') || isPackage(id),
    dir: 'dist',
    format: 'esm',
    ...SMALL,
  });
}

/**
 * Bundles the program as a CommonJS file, because Node starts such a file without its ES module
 * loader.
 */
async function bundleProgram() {
  const build = createHash('sha256');
  for (const name of readdirSync('dist/chunks').sort()) build.update(readFileSync(`dist/chunks/${name}`));
  await bundle({
    input: { lookfirst: 'build/bin.js' },
    transform: { define: { BUILD: JSON.stringify(build.digest('hex').slice(0, 16)) } },
    dir: 'dist/bin',
    format: 'cjs',
    ...SMALL,
  });
  writeFileSync('dist/bin/package.json', '{ "type": "commonjs" }\n');
  chmodSync('dist/bin/lookfirst.js', 0o755);
}

function entriesIn(extension, isWanted = () => true) {
  return Object.fromEntries(entries.filter(isWanted).map((name) => [name, `build/${name}${extension}`]));
}

/** The text of a module that re-exports the names of a chunk. */
function moduleOver(name, exported) {
  return `import chunk from './chunks/${name}.cjs';\nexport const { ${exported.join(', ')} } = chunk;\n`;
}

function virtual(name, text) {
  return {
    name,
    resolveId: (id) => (id === name ? id : undefined),
    load: (id) => (id === name ? text : undefined),
  };
}

/**
 * What the modules of an entry point import from our other modules: each name with the file that exports it. The
 * chunk `id` exports these names.
 */
function partsOf(entry, modules) {
  const files = modules.map((name) => resolve('build', name));
  const names = new Map();
  for (const importer of files) {
    const found = readFileSync(importer, 'utf8').matchAll(
      /^(?:import|export) \{([^}]*)\} from '(\.[^']+)';/gm,
    );
    for (const [, list, from] of found) {
      const file = resolve(dirname(importer), from);
      if (files.includes(file)) continue;
      for (const name of list.split(',')) if (name.trim() !== '') names.set(name.trim(), file);
    }
  }
  return { id: `${entry}-parts`, files, names };
}

/**
 * The paths of the compiled modules `roots`, and of all modules that Node loads together with them:
 * through import and export statements, not through `import()` calls.
 */
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

function oneOf(files, pattern = /^/) {
  return (id) => files.has(id) && pattern.test(id);
}

/** Bundles modules and returns the list of written files. */
async function bundle({ input, plugins, external = isPackage, transform, ...output }) {
  const made = await rolldown({
    input,
    plugins,
    external,
    transform,
    makeAbsoluteExternalsRelative: false,
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    // Do not print how long each plugin took. On a slow machine, the bundler would print it even to
    // users of `npm start`.
    checks: { ineffectiveDynamicImport: false, bundlerTimings: false },
  });
  const written = await made.write(output);
  await made.close();
  return written.output;
}

/**
 * Removes the comments of declarations that a user of the library does not see: those that the file
 * does not export, unless an exported one extends or returns them.
 */
function withoutInternalComments(text) {
  const { program, comments } = parseSync('types.d.ts', text, { lang: 'dts', sourceType: 'module' });
  const nodes = new Map(program.body.map((node) => [node.id?.name, node]));
  const seen = new Set();
  const see = (name) => {
    const node = nodes.get(name);
    if (node === undefined || seen.has(name)) return;
    seen.add(name);
    const code = text.slice(node.start, node.end);
    const [head] = node.type === 'TSDeclareFunction' ? [code] : code.split('{');
    for (const [word] of head.matchAll(/\w+/g)) see(word);
  };
  const exported = program.body.flatMap(({ type, specifiers }) =>
    type === 'ExportNamedDeclaration' ? specifiers : [],
  );
  for (const { local } of exported) see(local.name);
  const internal = program.body.flatMap(({ id, end }, at) =>
    id != null && !seen.has(id.name) ? [{ from: program.body[at - 1]?.end ?? 0, to: end }] : [],
  );
  const isInternal = ({ start, end }) => internal.some(({ from, to }) => start >= from && end <= to);
  let at = 0;
  const kept = comments.filter(isInternal).map(({ start, end }) => {
    const before = text.slice(at, start);
    at = end;
    return before;
  });
  return [...kept, text.slice(at)].join('').replace(/\n\s*\n/g, '\n');
}

/** True for Node's modules and for dependencies, which are not bundled. */
function isPackage(id) {
  return id.startsWith('node:') || packages.some((name) => id === name || id.startsWith(`${name}/`));
}

async function bundlePage(page) {
  mkdirSync(page, { recursive: true });
  const script = await rolldown({
    input: 'src/viewer/page/main.ts',
    platform: 'browser',
    tsconfig: 'src/viewer/page/tsconfig.json',
    checks: { bundlerTimings: false },
  });
  // The highlighter is a chunk of its own, which the page loads when it shows a diff.
  await script.write({
    dir: page,
    format: 'esm',
    minify: true,
    entryFileNames: 'app.js',
    chunkFileNames: '[name].js',
  });
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
