/** How one kind of string literal is written. */
export interface StringRule {
  readonly open: string;
  readonly close: string;
  /** How the closing mark can occur inside: after a backslash, written twice, or not at all. */
  readonly escape: 'backslash' | 'double' | 'none';
  readonly multiline: boolean;
  /** The opening mark begins with letters: at the end of a name it is part of that name. */
  readonly operator: boolean;
  /** Opening and closing marks of code inside the string. */
  readonly holes: readonly (readonly [string, string])[];
}

/** What the lexer must know of a language to tell code from strings and comments. */
export interface Syntax {
  readonly lineComments: readonly string[];
  readonly blockComments: readonly (readonly [string, string])[];
  readonly strings: readonly StringRule[];
  readonly nestedComments?: true;
  /** A `#` (or vim's `"`) begins a comment only at the beginning of a word or a line. */
  readonly commentAt?: 'word' | 'line';
  /** A word that may touch a quote from the left, as part of the literal. */
  readonly prefixes?: RegExp;
  /** A character that makes the next one plain, outside of strings. */
  readonly charEscape?: string;
  /** `'` is a character literal, a lifetime or a quote operator, not a string. */
  readonly loneQuote?: true;
  readonly regexLiterals?: true;
  /** Text from a marked line to the line of its mark; group 2 is the mark. */
  readonly heredoc?: RegExp;
  /** `<p>Elements</p>` may stand where an expression may. */
  readonly elements?: true;
  /** Words that a string may follow; after any other word a quote is prose. */
  readonly wordsBefore?: ReadonlySet<string>;
  /** Code begins after the first of these, if there is any. */
  readonly startsAfter?: string;
}

/** What a file is written in, as far as quotes are concerned. */
export type Language =
  | { readonly kind: 'code'; readonly syntax: Syntax }
  | { readonly kind: 'markup' }
  /** Keys and values: a quote is code only where it encloses a whole value. */
  | { readonly kind: 'values' };

/**
 * Reads one row of the table. Comments: `//` to the end of the line, or `/*…*` with both marks. Strings: the mark, or
 * `open…close`, then `:` and flags: `m` several lines; `n` nothing is escaped, `r` that and several lines; `s` the
 * mark is escaped by doubling it, `d` that and several lines; `o` an operator of letters; `$` and `#` holes `${}` and `#{}`, `(` holes `\()`, `c` holes `$()` as well.
 * `%q*` stands for the mark with each kind of bracket behind it.
 */
function syntax(comments: string, strings: string, more: Partial<Syntax> = {}): Syntax {
  const marks = comments.split(' ').filter((mark) => mark !== '');
  const pair = (text: string): readonly [string, string] => {
    const [open = '', close = open] = text.replaceAll('↵', '\n').split('…');
    return [open, close];
  };
  return {
    lineComments: marks.filter((mark) => !mark.includes('…')),
    blockComments: marks.filter((mark) => mark.includes('…')).map(pair),
    strings: strings.split(' ').flatMap((rule) => {
      const [, text = '', flags = ''] = /^(.+?)(?::([a-z$#(]+))?$/u.exec(rule) ?? [];
      const all = text.endsWith('*') ? BRACKETS.map((pair) => text.slice(0, -1) + pair) : [text];
      return all.map((each) => stringRule(pair(each), flags));
    }),
    ...more,
  };
}

const BRACKETS = ['(…)', '[…]', '{…}', '<…>', '|…|', '/…/', '!…!'];
const HOLES: readonly (readonly [string, readonly [string, string]])[] = [
  ['c', ['$(', ')']],
  ['$', ['${', '}']],
  ['#', ['#{', '}']],
  ['(', ['\\(', ')']],
];

function stringRule([open, close]: readonly [string, string], flags: string): StringRule {
  const escapedBy = /[rn]/.test(flags) ? 'none' : /[ds]/.test(flags) ? 'double' : 'backslash';
  const holes = HOLES.filter(([flag]) => flags.includes(flag)).map(([, marks]) => marks);
  const [multiline, operator] = [/[mrd]/.test(flags), flags.includes('o')];
  return { open, close, escape: escapedBy, multiline, operator, holes };
}

const HEREDOC = /<<[-~]?(["'`]?)([A-Za-z_]\w*)\1/;
const WORDS_BEFORE =
  'import from return case typeof in of throw yield await else do new delete void instanceof default export extends as is';
const JAVASCRIPT = syntax('// /*…*/', '" \' `:m$', {
  regexLiterals: true,
  wordsBefore: new Set(WORDS_BEFORE.split(' ')),
});

/** Every syntax by its name. */
export const SYNTAXES: Readonly<Record<string, Syntax>> = {
  c: syntax('// /*…*/', 'R"(…)":r " \'', { prefixes: /^(?:L|u8?|U)$/ }),
  go: syntax('// /*…*/', '" \' `:r'),
  java: syntax('// /*…*/', '""":m " \''),
  csharp: syntax('// /*…*/', '""":r @"…":d $@"…":d " \''),
  kotlin: syntax('// /*…*/', '""":r$ ":$ \'', { nestedComments: true }),
  swift: syntax('// /*…*/', '#"…"#:r """:m( ":(', { nestedComments: true }),
  rust: syntax('// /*…*/', 'r##"…"##:r r#"…"#:r ":m', { nestedComments: true, loneQuote: true }),
  php: syntax('// # /*…*/ ?>…<?', '":m \':m `:m', {
    heredoc: /<<<\s*(["']?)([A-Za-z_]\w*)\1/,
    startsAfter: '<?',
  }),
  groovy: syntax('// /*…*/', '""":m$ \'\'\':m ":$ \''),
  javascript: JAVASCRIPT,
  jsx: { ...JAVASCRIPT, elements: true },
  python: syntax('#', '""":m \'\'\':m " \'', { prefixes: /^[rbfu]{1,2}$/i }),
  // Other brackets after a bare `%` are more likely the rest of a division.
  ruby: syntax(
    '# ↵=begin…↵=end',
    '":m# \':m `:m# %q*:m %w*:m %i*:m %s*:m %Q*:m# %W*:m# %I*:m# %r*:m# %x*:m# %(…):m# %[…]:m# %{…}:m#',
    { regexLiterals: true, heredoc: HEREDOC },
  ),
  elixir: syntax('#', '""":m# \'\'\':m ":m# \':m ~s*:m# ~w*:m# ~c*:m# ~r*:m# ~S*:m ~W*:m ~C*:m ~R*:m', {
    charEscape: '?',
  }),
  erlang: syntax('%', '":m \':m', { charEscape: '$' }),
  perl: syntax('# ↵=…↵=cut', '":m \':m `:m q*:mo qq*:mo qw*:mo qr*:mo', {
    commentAt: 'word',
    regexLiterals: true,
    charEscape: '\\',
    heredoc: /<<~?(["']?)([A-Za-z_]\w*)\1/,
  }),
  shell: syntax('#', "$'…':m \":mc$ ':r", {
    commentAt: 'word',
    charEscape: '\\',
    heredoc: /<<[-~]?\s*(["']?)([A-Za-z_]\w*)\1/,
  }),
  lua: syntax('-- --[[…]] --[=[…]=]', '" \' [[…]]:r [=[…]=]:r'),
  r: syntax('#', '":m \':m `:m'),
  haskell: syntax('-- {-…-}', '"', { nestedComments: true, loneQuote: true }),
  lisp: syntax('; #|…|#', '":m', { charEscape: '\\', loneQuote: true }),
  vim: syntax('"', '" \':s', { commentAt: 'line' }),
  sql: syntax('-- /*…*/', '\':d ":d `:r $$:r'),
  css: syntax('/*…*/', '" \''),
  scss: syntax('// /*…*/', '" \''),
  hcl: syntax('# // /*…*/', '":$', { heredoc: HEREDOC }),
  graphql: syntax('#', '""":m "'),
  toml: syntax('#', '""":m \'\'\':r " \':n'),
  json: syntax('// /*…*/', '"'),
  config: syntax('#', '" \'', { commentAt: 'word', charEscape: '\\' }),
  cmake: syntax('# #[[…]]', '":m [[…]]:r'),
};

/** Attribute values in markup; nothing between the marks is escaped. */
export const ATTRIBUTES: Syntax = syntax('', '":r \':r');
/** `[a, b]` and `{a: b}` within one line of YAML. */
export const FLOW: Syntax = syntax('#', '" \'', { commentAt: 'word' });

/** The extensions of each syntax and of the two other kinds. */
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

/** The syntax of this name, such as `javascript` for a script element. */
export function syntaxNamed(name: string): Syntax | undefined {
  return Object.hasOwn(SYNTAXES, name) ? SYNTAXES[name] : undefined;
}

/** The language of a file by its name, in upper or lower case; undefined for prose and unknown files. */
export function languageOf(path: string): Language | undefined {
  const name = baseName(path);
  // `.env.local` and `Dockerfile.dev` are known by how they begin.
  const begun = /^(\.env|dockerfile)\./.exec(name)?.[1] ?? name;
  const known = BY_NAME.get(begun) ?? BY_EXTENSION.get(extensionOf(begun));
  if (known === 'markup' || known === 'values') return { kind: known };
  const found = syntaxNamed(known ?? '');
  return found && { kind: 'code', syntax: found };
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
