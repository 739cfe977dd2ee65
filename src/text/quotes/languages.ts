/** The syntax of one kind of string literal. */
export interface StringRule {
  readonly open: string;
  readonly close: string;
  /** The way the string can contain its closing mark: after a backslash, doubled, or not at all. */
  readonly escape: 'backslash' | 'double' | 'none';
  readonly multiline: boolean;
  /**
   * True if the opening mark begins with letters, like Perl's `qq{`. Directly after a name, those letters belong to
   * the name.
   */
  readonly operator: boolean;
  /** Opening and closing marks of holes: interpolated code inside the string. */
  readonly holes: readonly (readonly [string, string])[];
}

/** The syntax that the lexer needs to separate code from strings and comments. */
export interface Syntax {
  readonly lineComments: readonly string[];
  readonly blockComments: readonly (readonly [string, string])[];
  readonly strings: readonly StringRule[];
  readonly nestedComments?: true;
  /** A `#` (or vim's `"`) begins a comment only at the beginning of a word or line. */
  readonly commentAt?: 'word' | 'line';
  /** A word that may directly precede a quote as part of the literal. */
  readonly prefixes?: RegExp;
  /** A character that escapes the next one outside strings. */
  readonly charEscape?: string;
  /**
   * True if `'` does not begin a string, but a character literal, a lifetime (Rust) or a quote
   * operator (Lisp).
   */
  readonly loneQuote?: true;
  readonly regexLiterals?: true;
  /** Matches the start of a here-document, which ends at a line with its mark; group 2 is the mark. */
  readonly heredoc?: RegExp;
  /** True if elements such as `<p>text</p>` are allowed as expressions. */
  readonly elements?: true;
  /** Words that a string may follow. A quote after any other word is prose. */
  readonly wordsBefore?: ReadonlySet<string>;
  /**
   * Code begins at the first occurrence of this mark, such as `<?`. In a file without the mark, it
   * begins at the top.
   */
  readonly startsAfter?: string;
}

/** The language of a file, reduced to the differences that matter for quotes. */
export type Language =
  | { readonly kind: 'code'; readonly syntax: Syntax }
  | { readonly kind: 'markup' }
  /** A file of keys and values, such as YAML: a quote is code only if it encloses a whole value. */
  | { readonly kind: 'values' };

/**
 * Parses one row of the table of syntaxes.
 * - `comments`: a mark such as `//`, valid to the end of the line, or both marks joined with `…`.
 * - `strings`: a mark, or both marks joined with `…`, then `:` and flags. `%q*` means `%q`
 *   with each kind of bracket.
 * - Flags for escapes: `n` and `r` none, `s` and `d` the doubled mark; default: a backslash.
 * - Flags for strings that may extend over several lines: `m`, `r` and `d`.
 * - Flags for holes: `$` for `${}`, `#` for `#{}`, `(` for `\()`, `c` for `$()`.
 * - Flag `o`: the mark is an operator of letters.
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

/** All syntaxes by name. */
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
  // After a bare `%`, only these brackets begin a string. Other characters more likely follow a modulo operator.
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

/** Attribute values in markup, which have no escapes. */
export const ATTRIBUTES: Syntax = syntax('', '":r \':r');
/** Flow collections of YAML, `[a, b]` and `{a: b}`, within one line. */
export const FLOW: Syntax = syntax('#', '" \'', { commentAt: 'word' });

/** The file extensions of each syntax, of markup and of files that hold plain values. */
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

/** The file extensions that the policy preset `staleness` treats as code. */
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

/** The syntax with this name, such as `javascript` for a script element. */
export function syntaxNamed(name: string): Syntax | undefined {
  return Object.hasOwn(SYNTAXES, name) ? SYNTAXES[name] : undefined;
}

/** The language of a file by its name, ignoring case; undefined for prose and unknown files. */
export function languageOf(path: string): Language | undefined {
  const name = baseName(path);
  // `.env.local` and `Dockerfile.dev` are recognised by their beginning.
  const begun = /^(\.env|dockerfile)\./.exec(name)?.[1] ?? name;
  const known = BY_NAME.get(begun) ?? BY_EXTENSION.get(extensionOf(begun));
  if (known === 'markup' || known === 'values') return { kind: known };
  const found = syntaxNamed(known ?? '');
  return found && { kind: 'code', syntax: found };
}

/** True if the policy preset `staleness` treats this as a code file; an empty path counts as one. */
export function isSeedCode(path: string): boolean {
  if (path === '') return true;
  const name = baseName(path);
  return SEED_NAMES.has(name) || SEED_EXTENSIONS.has(extensionOf(name));
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1).toLowerCase();
}

/** The name from its last dot on, even if that is the first character: `.env` is an extension here. */
function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? '' : name.slice(dot);
}
