import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';

const source = join(dirname(fileURLToPath(import.meta.url)), '../src');

/**
 * The folders of src, lowest layer first. A file may import from its own folder and from folders of
 * earlier lines.
 */
const LAYERS: readonly (readonly string[])[] = [
  ['model'],
  ['report', 'text'],
  ['judge', 'dialect', 'wire'],
  ['lock'],
  ['workspace', 'disk', 'store', 'process'],
  ['views', 'journal', 'history', 'config'],
  ['gate'],
  ['session'],
  ['tools', 'records'],
  ['cli', 'mcp', 'proxy', 'hooks', 'viewer', 'adapters'],
];
const PURE = new Set(['model', 'judge', 'text', 'dialect', 'report']);
const TOUCHES_DISK = new Set(['workspace', 'disk', 'lock', 'store', 'process']);
/** Files that may import `node:fs`, because they use it only for files outside every workspace. */
const FS_EXCEPTIONS = new Set<string>([
  'cli/clients/config-file.ts',
  'cli/stage.ts',
  // Writes the hook script into the state folder.
  'cli/clients/hook-files.ts',
  // Find and create sockets in the state folder.
  'hooks/resident/ask-resident.ts',
  'hooks/resident/resident.ts',
  // Reads the page that the build has bundled.
  'viewer/page-files.ts',
  // Runs inside opencode, and uses the file system only to locate the script that it starts.
  'opencode.ts',
]);

/**
 * Files that may import `node:os`, to make a temporary folder. Others may not, so that none looks
 * up the user's home folder.
 */
const OS_EXCEPTIONS: ReadonlySet<string> = new Set(['cli/stage.ts']);

/**
 * The folders that talk to the outside: they parse input, call the core and print the result. Each
 * may import only from itself and from the folders in `OPEN_TO_DOORS`.
 */
const DOORS = new Set(['cli', 'mcp', 'proxy', 'hooks', 'viewer', 'adapters']);
const OPEN_TO_DOORS = new Set([
  'session',
  'tools',
  'records',
  'config',
  'dialect',
  'wire',
  'report',
  'text',
  'model',
]);

interface SourceFile {
  readonly name: string;
  readonly folder: string;
  readonly imports: readonly string[];
}

function violations(file: SourceFile): string[] {
  const found: string[] = [];
  const layer = layerOf(file.folder);
  for (const target of file.imports) {
    if (target.startsWith('node:')) {
      if (PURE.has(file.folder)) found.push(`${file.name}: ${target} in the pure layer`);
      if (/^node:fs/.test(target) && !TOUCHES_DISK.has(file.folder) && !FS_EXCEPTIONS.has(file.name))
        found.push(`${file.name}: ${target} outside workspace/, disk/, store/, lock/, process/`);
      if (target === 'node:os' && file.folder === 'cli' && !OS_EXCEPTIONS.has(file.name))
        found.push(`${file.name}: ${target} in cli/, which gets the home folder from main.ts`);
    } else if (target.startsWith('.')) {
      const folder = folderOf(join(dirname(file.name), target));
      if (folder !== file.folder && layerOf(folder) >= layer)
        found.push(`${file.name}: imports ${folder}/, which is not below ${file.folder}/`);
      else if (isBackDoor(file.folder, folder)) found.push(`${file.name}: a door imports ${folder}/`);
    } else if (/^(fs|path|crypto|child_process)(\/|$)/.test(target))
      found.push(`${file.name}: write node:${target}`);
  }
  return found;
}

/** True if a folder in `DOORS` imports another folder that is not in `OPEN_TO_DOORS`. */
function isBackDoor(folder: string, target: string): boolean {
  return DOORS.has(folder) && folder !== target && !OPEN_TO_DOORS.has(target);
}

/** The files of one import cycle, or undefined; type-only imports count. */
function cycleIn(files: readonly SourceFile[]): readonly string[] | undefined {
  const imports = new Map(files.map((file) => [file.name, relativeImports(file)]));
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const target of imports.get(name) ?? []) {
      const cycle = visit(target, [...path, name]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  };
  for (const { name } of files) {
    const cycle = visit(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

function relativeImports({ name, imports }: SourceFile): string[] {
  return imports.filter((target) => target.startsWith('.')).map((target) => join(dirname(name), target));
}

function folderOf(name: string): string {
  return name.includes('/') ? (name.split('/')[0] ?? '') : '';
}

/** The layer of a folder. Files directly in src/ (index.ts, main.ts) are above every folder. */
function layerOf(folder: string): number {
  const layer = LAYERS.findIndex((names) => names.includes(folder));
  if (layer < 0 && folder !== '') throw new Error(`src/${folder}/ is in no layer`);
  return layer < 0 ? LAYERS.length : layer;
}

function readSource(): SourceFile[] {
  return readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const text = readFileSync(path, 'utf8');
      const name = relative(source, path);
      const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)].map(
        (match) => match[1] ?? '',
      );
      return { name, folder: folderOf(name), imports };
    });
}

describe('the layers', () => {
  it('hold in src/', () => {
    const files = readSource();
    expect(files.length).toBeGreaterThan(5);
    expect(files.flatMap(violations)).toEqual([]);
  });

  it('have no import cycles', () => {
    expect(cycleIn(readSource())).toBeUndefined();
    const file = (name: string, target: string) => ({ name, folder: 'text', imports: [target] });
    expect(cycleIn([file('text/a.ts', './b.ts'), file('text/b.ts', './a.ts')])).toHaveLength(3);
  });

  it.each([
    ['an upward import', { name: 'text/a.ts', folder: 'text', imports: ['../gate/gate.ts'] }],
    ['a sideways import', { name: 'disk/a.ts', folder: 'disk', imports: ['../workspace/walk.ts'] }],
    [
      'an upward import from a nested folder',
      { name: 'judge/rules/a.ts', folder: 'judge', imports: ['../../disk/read.ts'] },
    ],
    ['node: in the pure layer', { name: 'text/a.ts', folder: 'text', imports: ['node:path'] }],
    ['node:fs above the disk', { name: 'gate/a.ts', folder: 'gate', imports: ['node:fs/promises'] }],
    ['a door past the session', { name: 'mcp/a.ts', folder: 'mcp', imports: ['../gate/gate.ts'] }],
  ])('would catch %s', (_what, file) => {
    expect(violations(file)).toHaveLength(1);
  });

  it('allow imports from folders below', () => {
    const file = {
      name: 'gate/a.ts',
      folder: 'gate',
      imports: ['../disk/read.ts', './b.ts', 'node:crypto'],
    };
    expect(violations(file)).toEqual([]);
  });
});

/**
 * Tests in src/ whose source file is missing. A test of `x.ts` is named `x.test.ts` or
 * `x.SUBJECT.test.ts`.
 */
function strayTests(names: readonly string[]): string[] {
  const all = new Set(names);
  return names.filter((name) => {
    const [, stem] = /^(.*?)(?:\.[a-z-]+)?\.test\.ts$/.exec(name) ?? [];
    return stem !== undefined && !all.has(`${stem}.ts`);
  });
}

describe('a stranger finds', () => {
  const names = readdirSync(source, { recursive: true, encoding: 'utf8' });

  it('the tests of a file by its name', () => {
    expect(strayTests(names)).toEqual([]);
    expect(strayTests(['a/b.ts', 'a/b.test.ts', 'a/b.race.test.ts', 'a/c.test.ts'])).toEqual(['a/c.test.ts']);
  });

  it('every file that ARCHITECTURE.md names for a folder', () => {
    const text = readFileSync(join(source, '../ARCHITECTURE.md'), 'utf8');
    const rows = [...text.matchAll(/^\| `([a-z/]+)\/` \|(.*)$/gm)];
    expect(rows.length).toBeGreaterThan(15);
    const missing = rows.flatMap(([, folder = '', row = '']) =>
      [...row.matchAll(/`([a-z/-]+\.ts)`/g)]
        .map(([, file = '']) => file)
        .filter((file) => !names.some((name) => name.startsWith(`${folder}/`) && name.endsWith(`/${file}`)))
        .map((file) => `${folder}/${file}`),
    );
    expect(missing).toEqual([]);
  });
});

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/**
 * Files that may hold module-level variables or empty collections, with the reason. All other state belongs to an
 * object that is opened and closed.
 */
const STATE_EXCEPTIONS: Readonly<Record<string, string>> = {
  'text/decode.ts': 'the loader of packages that this pure folder cannot load itself; set once',
  'session/ambient.ts': 'runInSession finds a session of this process by its id',
  'store/sqlite/sqlite-store.ts': 'stores that this process has open on one database file see each other',
  'viewer/page/state.ts': 'the state of the page',
  'viewer/page/list.ts': 'the timer of the search field',
};
/** Functions that may have a boolean parameter, because a framework prescribes their signature. */
const BOOLEAN_EXCEPTIONS = new Set(['adapters/langchain.ts: replaceAll']);
/**
 * Names that several modules may export: several adapters offer a function of this name, or an
 * entry point offers its own version of an internal one.
 */
const NAMES_OF_ENTRY_POINTS = [
  'ServerOptions',
  'Sessions',
  'lookfirstTools',
  'openSession',
  'seenFrom',
  'serveHttp',
  'serveStdio',
];

interface ModuleFacts {
  readonly exported: readonly string[];
  /** Module-level variables that can change. */
  readonly state: readonly string[];
  readonly booleans: readonly string[];
}

function factsOf(text: string): ModuleFacts {
  const source = (node: Node): string => text.slice(node.start, node.end);
  const exported = new Set<string>();
  const state: string[] = [];
  const booleans: string[] = [];
  // The cast is safe: the parser's nodes have these members.
  const { body } = parseAst(text, { lang: 'ts' }) as unknown as { readonly body: readonly Node[] };
  for (const statement of body) {
    const isExport = statement.type === 'ExportNamedDeclaration';
    const declared = (isExport ? statement['declaration'] : statement) as Node | null;
    if (declared === null) continue;
    const variables = declared.type === 'VariableDeclaration' ? (declared['declarations'] as Node[]) : [];
    const named = variables.length > 0 ? variables : [declared];
    const names = named.flatMap((each) => (each['id'] as { name?: string } | undefined)?.name ?? []);
    if (isExport) for (const name of names) exported.add(name);
    if (variables.length > 0 && declared['kind'] !== 'const') state.push(...names);
    for (const variable of variables) if (isEmptyCollection(source(variable))) state.push(...names);
  }
  visit({ type: 'Program', start: 0, end: text.length, body }, (node) => {
    if (!/Function(Expression|Declaration)|^TSEmptyBody/.test(node.type)) return;
    for (const parameter of node['params'] as Node[])
      if (isBoolean(source(parameter))) booleans.push(source(parameter).split(/\W/)[0] ?? '');
  });
  return { exported: [...exported], state, booleans };
}

function isEmptyCollection(declaration: string): boolean {
  const [name = '', value = ''] = declaration.split(/ = (.*)/s);
  return !/readonly/i.test(name) && /^(new (Weak)?(Map|Set)(<.*>)?\(\)|\[\])$/s.test(value);
}

/**
 * True for a boolean parameter: `name: boolean`, `name?: boolean`, `name = false`. An object with a
 * boolean field is allowed, because each call names the field.
 */
function isBoolean(parameter: string): boolean {
  return /^\w+\??: boolean( \| undefined)?( = .*)?$|^\w+ = (true|false)$/.test(parameter);
}

function visit(node: Node, see: (node: Node) => void): void {
  see(node);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (typeof child === 'object' && child !== null && 'type' in child) visit(child as Node, see);
}

describe('the modules', () => {
  const modules = readSource()
    .filter(({ name }) => !name.endsWith('.d.ts'))
    .map(({ name }) => ({ name, ...factsOf(readFileSync(join(source, name), 'utf8')) }));

  it('have no module-level state', () => {
    const found = modules.filter(({ state }) => state.length > 0).map(({ name }) => name);
    expect(found.sort()).toEqual(Object.keys(STATE_EXCEPTIONS).sort());
  });

  it('take no boolean parameters', () => {
    const found = modules.flatMap(({ name, booleans }) => booleans.map((each) => `${name}: ${each}`));
    expect(found.filter((each) => !BOOLEAN_EXCEPTIONS.has(each))).toEqual([]);
    expect(found).toHaveLength(BOOLEAN_EXCEPTIONS.size);
  });

  it('export each name once, except the entry points', () => {
    const names = modules.flatMap(({ exported }) => exported);
    const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
    expect([...twice].sort()).toEqual(NAMES_OF_ENTRY_POINTS);
  });

  it.each([
    ['let count = 0;', { state: ['count'] }],
    ['export let count = 0;', { state: ['count'], exported: ['count'] }],
    ['const known = new Map<string, number>();', { state: ['known'] }],
    ['const known: ReadonlyMap<string, number> = new Map();', { state: [] }],
    ['const all: string[] = [];', { state: ['all'] }],
    ['const all: readonly string[] = [];', { state: [] }],
    ["const NAMES = new Set(['a']);", { state: [] }],
    ['function f(deep: boolean): void {}', { booleans: ['deep'] }],
    ['class A { f(path: string, deep = false): void {} }', { booleans: ['deep'] }],
    ['const f = (deep?: boolean): void => {};', { booleans: ['deep'] }],
    ['function f({ deep }: { deep: boolean }): void {}', { booleans: [] }],
    ['function f(is: (value: string) => boolean): void {}', { booleans: [] }],
  ])('are parsed correctly: %s', (text, facts) => {
    expect(factsOf(text)).toMatchObject(facts);
  });
});
