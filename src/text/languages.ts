import { SYNTAXES, type Syntax } from './syntax.ts';

/** What a file is written in, as far as quotes go. */
export type Language =
  | { readonly kind: 'code'; readonly syntax: Syntax }
  | { readonly kind: 'markup' }
  /** Keys and values: a quote stands as code only where it encloses a whole value. */
  | { readonly kind: 'values' };

/** Names of syntaxes, or of the other kinds, and the extensions they go with. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  c: '.c .cpp .h .hpp .cc .cxx .hh .m .mm .proto .dart .zig',
  go: '.go',
  java: '.java .scala',
  csharp: '.cs',
  kotlin: '.kt .kts',
  swift: '.swift',
  rust: '.rs',
  php: '.php',
  groovy: '.gradle .groovy',
  javascript: '.ts .mts .cts',
  jsx: '.js .jsx .tsx .mjs .cjs',
  python: '.py .pyi',
  ruby: '.rb',
  elixir: '.ex .exs',
  erlang: '.erl .hrl',
  perl: '.pl .pm',
  shell: '.sh .bash .zsh .fish .makefile .dockerfile',
  lua: '.lua',
  r: '.r',
  haskell: '.hs .elm',
  lisp: '.clj .lisp .el',
  vim: '.vim',
  sql: '.sql',
  css: '.css',
  scss: '.scss .less',
  hcl: '.tf .hcl .tfvars',
  graphql: '.graphql .gql',
  toml: '.toml',
  json: '.json .jsonc .json5',
  config: '.conf',
  cmake: '.cmake',
  markup: '.xml .html .htm .svg .vue .svelte',
  values: '.yaml .yml .ini .env',
};

const NAMES: readonly (readonly [string, string])[] = [
  ['makefile', 'shell'],
  ['dockerfile', 'shell'],
  ['procfile', 'shell'],
  ['jenkinsfile', 'groovy'],
  ['vagrantfile', 'ruby'],
  ['gemfile', 'ruby'],
  ['rakefile', 'ruby'],
  ['guardfile', 'ruby'],
  ['.eslintrc', 'json'],
  ['.prettierrc', 'json'],
];

const BY_NAME: ReadonlyMap<string, string> = new Map(NAMES);
const BY_EXTENSION: ReadonlyMap<string, string> = new Map(
  Object.entries(EXTENSIONS).flatMap(([name, list]) => list.split(' ').map((one) => [one, name] as const)),
);

/** Code by document D: these extensions and names exactly, and nothing else. */
const SEED_EXTENSIONS = new Set(
  (
    '.go .py .js .ts .jsx .tsx .java .c .cpp .h .hpp .rs .rb .php .swift .kt .scala .cs .r .m .mm .sh .bash .zsh .fish ' +
    '.sql .json .yaml .yml .toml .xml .html .css .scss .less .lua .pl .pm .ex .exs .erl .hrl .hs .elm .clj .lisp .el .vim ' +
    '.conf .ini .env .dockerfile .tf .hcl .proto .graphql .gql .makefile .cmake .gradle'
  ).split(' '),
);
const SEED_NAMES = new Set(
  'makefile dockerfile jenkinsfile vagrantfile gemfile rakefile guardfile procfile .gitignore .dockerignore .eslintrc .prettierrc'.split(
    ' ',
  ),
);

/** What a file of this name is written in; undefined for prose and for anything unknown. Case does not count. */
export function languageOf(path: string): Language | undefined {
  const name = baseName(path);
  // `.env.local` and `Dockerfile.dev` are named by their beginnings.
  const begun = /^(\.env|dockerfile)\./.exec(name)?.[1] ?? name;
  const known = BY_NAME.get(begun) ?? BY_EXTENSION.get(extensionOf(begun));
  if (known === 'markup' || known === 'values') return { kind: known };
  const syntax = known === undefined ? undefined : SYNTAXES.get(known);
  return syntax && { kind: 'code', syntax };
}

/** Whether document D calls this a code file; an empty path counts as one. */
export function isSeedCode(path: string): boolean {
  if (path === '') return true;
  const name = baseName(path);
  return SEED_NAMES.has(name) || SEED_EXTENSIONS.has(extensionOf(name));
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1).toLowerCase();
}

/** From the last dot on, also when it is the first character: `.env` is an extension here. */
function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? '' : name.slice(dot);
}
