// Builds the project. Bundles src/ into dist/, for the package, and compiles it into build/, for tests, benchmarks and
// the package's types. dist/ holds CommonJS chunks, the program that loads them, and for each entry point one module and
// one file of types. With the argument `program`, makes only what runs: no build/, no types and no manual page.
import { spawn } from 'node:child_process';
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
import { parseSync, Visitor } from 'rolldown/utils';
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

const isProgramOnly = process.argv[2] === 'program';
rmSync('dist', { recursive: true, force: true });
const compiled = isProgramOnly ? undefined : compile();

/** The names of classes stay, because Node prints the name of a thrown error's class. */
const NAMES = { function: false, class: true };
const SMALL = {
  minify: {
    compress: { target: 'node20', keepNames: NAMES },
    mangle: { toplevel: true, keepNames: NAMES },
    codegen: { removeWhitespace: true },
  },
  comments: false,
};
// Entry points that stay ES modules, and their modules that do. `langchain` and `openai` must use the same
// framework modules as their caller. `opencode` must be one file, because `init` copies it.
const MODULES = {
  langchain: ['langchain.ts', 'adapters/langchain.ts'],
  openai: ['openai.ts', 'adapters/openai-tools.ts'],
  opencode: [],
};
/** Modules that every command of the command line loads. */
const COMMAND_LINE = ['cli/run-cli.ts', 'cli/commands/version.ts'];
/** Packages that are loaded at their first use, because few starts need them. */
const LATE = [
  'node:child_process',
  'node:fs/promises',
  'node:http',
  'node:zlib',
  'fast-myers-diff',
  'unbash',
];
const LATE_MARK = '\0late:';
const parts = Object.entries(MODULES).flatMap(([name, files]) =>
  files.length === 0 ? [] : [partsOf(name, files)],
);

await bundleChunks();
await bundleModules();
await bundleProgram();
await bundlePage('dist/viewer/page');
if (compiled !== undefined) {
  await compiled;
  await bundleTypes();
  mkdirSync('dist/man');
  writeFileSync('dist/man/lookfirst.1', await manualPage(manifest));
}

/** Compiles src/ into build/, beside the bundling. Ends this process if there is a type error, which the compiler prints. */
function compile() {
  rmSync('build', { recursive: true, force: true });
  const compiler = spawn(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
    stdio: 'inherit',
  });
  return new Promise((done) => {
    compiler.on('close', (code) => (code === 0 ? done(true) : process.exit(1)));
  });
}

/**
 * Bundles all code except MODULES as CommonJS: Node loads it with less work, and Node 20 can cache only the compiled
 * code of CommonJS.
 */
async function bundleChunks() {
  const made = await bundle({
    input: {
      main: 'src/main.ts',
      ...entriesThat((name) => !Object.hasOwn(MODULES, name)),
      ...Object.fromEntries(parts.map(({ id }) => [id, id])),
    },
    plugins: [
      ...parts.map(({ id, names }) =>
        virtual(id, [...names].map(([name, file]) => `export { ${name} } from '${file}';`).join('\n')),
      ),
      lateLoading(),
    ],
    external: (id, importer) => isPackage(id) && (!LATE.includes(id) || importer?.startsWith(LATE_MARK)),
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
        { name: 'late', test: (id) => id.startsWith(LATE_MARK), priority: 8 },
        { name: 'cli', test: oneOf(loadedBy(...COMMAND_LINE), /\/src\/cli\//), priority: 6 },
        // Put the module `resident-place`, which hooks and commands about clients both need, into
        // the base chunk. In a hook chunk, it would make the chunks of hooks and commands import
        // each other.
        { name: 'base', test: oneOf(loadedBy(...COMMAND_LINE, 'config/resident-place.ts')), priority: 5 },
        { name: 'log', test: oneOf(loadedBy('cli/commands/log.ts'), /\/src\/cli\//), priority: 5 },
        {
          name: 'journal',
          test: oneOf(loadedBy('cli/commands/log.ts', 'store/sqlite/sqlite-store.ts')),
          priority: 4,
        },
        {
          name: 'session',
          test: oneOf(loadedBy('session/sessions.ts', 'session/configured.ts', 'report/explain.ts')),
          priority: 3,
        },
        // A hook call that the resident process answers loads only this chunk.
        {
          name: 'hook-call',
          test: oneOf(loadedBy('hooks/run-hook.ts', 'hooks/resident/ask-resident.ts')),
          priority: 7,
        },
        { name: 'hook', test: oneOf(loadedBy('hooks/hook-door.ts'), /\/src\/hooks\//), priority: 2 },
        { name: 'serve', test: oneOf(loadedBy('cli/commands/serve.ts', 'mcp/serve.ts')), priority: 1 },
        { name: 'words', test: /\/src\/(model|report|text)\// },
      ],
      includeDependenciesRecursively: false,
    },
    ...SMALL,
  });
  mustNotBeCyclic(made);
  for (const { fileName, code } of made) writeFileSync(`dist/chunks/${fileName}`, inLines(code));
  for (const { name, exports } of made.filter(({ isEntry }) => isEntry))
    if (entries.includes(name)) writeFileSync(`dist/${name}.js`, moduleOver(name, exports));
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
 * Puts each statement and each member of a class on its own line. If Node reports an error, it prints the whole line that
 * throws, so that line must be short.
 */
function inLines(code) {
  const starts = new Set([0]);
  const add = ({ body }) => {
    for (const { start } of body) starts.add(start);
  };
  const { program } = parseSync('chunk.cjs', code, { sourceType: 'script', astType: 'js' });
  const switchCase = ({ consequent }) => add({ body: consequent });
  new Visitor({
    Program: add,
    BlockStatement: add,
    ClassBody: add,
    SwitchCase: switchCase,
  }).visit(program);
  const cuts = [...starts].sort((a, b) => a - b);
  return `${cuts.map((start, at) => code.slice(start, cuts[at + 1])).join('\n')}\n`;
}

/** Puts a module in place of each package in LATE, which loads the package when one of its members is used. */
function lateLoading() {
  return {
    name: 'late',
    resolveId: (id) => (LATE.includes(id) ? `${LATE_MARK}${id}` : undefined),
    load: (id) => {
      if (!id.startsWith(LATE_MARK)) return undefined;
      const loaded = `require('${id.slice(LATE_MARK.length)}')`;
      // The bundler copies the members of a CommonJS module, but keeps its prototype.
      return `module.exports = Object.create(new Proxy({}, { get: (_, name) => ${loaded}[name] }));`;
    },
  };
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
    input: entriesThat((name) => Object.hasOwn(MODULES, name)),
    plugins: overParts,
    external: (id) => id.endsWith('.cjs') || isPackage(id),
    dir: 'dist',
    format: 'esm',
    ...SMALL,
  });
}

async function bundleTypes() {
  await bundle({
    input: Object.fromEntries(entries.map((name) => [name, `build/${name}.d.ts`])),
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'types/[name].ts',
    plugins: [dts({ dtsInput: true })],
  });
  for (const name of readdirSync('dist/types')) {
    const file = `dist/types/${name}`;
    writeFileSync(file, withoutInternalComments(readFileSync(file, 'utf8')));
  }
}

/**
 * Bundles the program as a CommonJS file, because Node starts such a file without its ES module
 * loader.
 */
async function bundleProgram() {
  const build = createHash('sha256');
  for (const name of readdirSync('dist/chunks').sort()) build.update(readFileSync(`dist/chunks/${name}`));
  await bundle({
    input: { lookfirst: 'src/bin.ts' },
    transform: { define: { BUILD: JSON.stringify(build.digest('hex').slice(0, 16)) } },
    dir: 'dist/bin',
    format: 'cjs',
    ...SMALL,
  });
  writeFileSync('dist/bin/package.json', '{ "type": "commonjs" }\n');
  chmodSync('dist/bin/lookfirst.js', 0o755);
}

function entriesThat(isWanted) {
  return Object.fromEntries(entries.filter(isWanted).map((name) => [name, `src/${name}.ts`]));
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
  const files = modules.map((name) => resolve('src', name));
  const names = new Map();
  for (const importer of files) {
    const found = readFileSync(importer, 'utf8').matchAll(
      /^(?:import|export) \{([^}]*)\} from '(\.[^']+)';/gm,
    );
    for (const [, list, from] of found) {
      const file = resolve(dirname(importer), from);
      if (files.includes(file)) continue;
      for (const name of list.split(',').map((each) => each.trim()))
        if (name !== '' && !name.startsWith('type ')) names.set(name, file);
    }
  }
  return { id: `${entry}-parts`, files, names };
}

/**
 * The paths of the modules `roots`, and of all modules that Node loads together with them:
 * through import and export statements, not through `import()` calls.
 */
function loadedBy(...roots) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, from] of text.matchAll(
      /^(?:import|export)\b(?! type\b)[^;()'"]*['"](\.{1,2}\/[^'"]+\.ts)['"]/gm,
    ))
      visit(resolve(dirname(file), from));
  };
  for (const root of roots) visit(resolve('src', root));
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
