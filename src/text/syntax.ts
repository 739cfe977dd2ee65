/** How one kind of string literal is written. */
export interface StringRule {
  readonly open: string;
  readonly close: string;
  /** What lets the closing mark stand inside: a backslash before it, writing it twice, or nothing. */
  readonly escape: 'backslash' | 'double' | 'none';
  readonly multiline: boolean;
  /** Its mark begins with an operator of letters: at the end of a name it is part of that name. */
  readonly operator?: true;
  /** Where code stands inside the string, by opening and closing mark. */
  readonly holes?: readonly (readonly [string, string])[];
}

/** What a lexer must know of a language to tell code from strings and comments. */
export interface Syntax {
  readonly lineComments: readonly string[];
  readonly blockComments: readonly (readonly [string, string])[];
  readonly strings: readonly StringRule[];
  readonly nestedComments?: true;
  /** A `#` (or the vim `"`) begins a comment only at a word's or a line's beginning. */
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
  /** Words after which a string may stand; after any other word a quote is prose. */
  readonly wordsBefore?: ReadonlySet<string>;
  /** Code begins after the first of these, if there is any. */
  readonly startsAfter?: string;
}

const SLASH_STAR = ['/*', '*/'] as const;
const SLASHES: Pick<Syntax, 'lineComments' | 'blockComments'> = {
  lineComments: ['//'],
  blockComments: [SLASH_STAR],
};
const HASH: Pick<Syntax, 'lineComments' | 'blockComments'> = { lineComments: ['#'], blockComments: [] };

function quoted(mark: string, more: Partial<StringRule> = {}): StringRule {
  return { open: mark, close: mark, escape: 'backslash', multiline: false, ...more };
}

const BRACKETS = ['()', '[]', '{}', '<>', '||', '//', '!!'];

/** Strings between brackets of the author's choice, after an operator. The first closing bracket ends them. */
function bracketed(operators: string, more: Partial<StringRule> = {}): StringRule[] {
  return operators
    .split(' ')
    .flatMap((operator) =>
      BRACKETS.map((pair) => quoted(operator + pair.charAt(0), { ...MULTI, close: pair.charAt(1), ...more })),
    );
}

const MULTI = { multiline: true } as const;
const RAW = { multiline: true, escape: 'none' } as const;
const DOUBLED = { multiline: true, escape: 'double' } as const;
const DOLLAR_BRACE = { holes: [['${', '}']] } as const;
const HASH_BRACE = { holes: [['#{', '}']] } as const;
const PLAIN = [quoted('"'), quoted("'")];
const TRIPLE = [quoted('"""', MULTI), quoted("'''", MULTI)];

const c: Syntax = {
  ...SLASHES,
  strings: [{ ...quoted('R"(', RAW), close: ')"' }, ...PLAIN],
  prefixes: /^(?:L|u8?|U)$/,
};
const groovy: Syntax = {
  ...SLASHES,
  strings: [
    quoted('"""', { ...MULTI, ...DOLLAR_BRACE }),
    quoted("'''", MULTI),
    quoted('"', DOLLAR_BRACE),
    quoted("'"),
  ],
};
const javascript: Syntax = {
  ...SLASHES,
  strings: [...PLAIN, quoted('`', { ...MULTI, ...DOLLAR_BRACE })],
  regexLiterals: true,
  wordsBefore: new Set(
    'import from return case typeof in of throw yield await else do new delete void instanceof default export extends as is'.split(
      ' ',
    ),
  ),
};
const ruby: Syntax = {
  ...HASH,
  blockComments: [['\n=begin', '\n=end']],
  strings: [
    quoted('"', { ...MULTI, ...HASH_BRACE }),
    quoted("'", MULTI),
    quoted('`', { ...MULTI, ...HASH_BRACE }),
    ...bracketed('%q %w %i %s'),
    ...bracketed('%Q %W %I %r %x', HASH_BRACE),
    // Other brackets after a bare sign are more likely a division's rest.
    quoted('%(', { ...MULTI, close: ')', ...HASH_BRACE }),
    quoted('%[', { ...MULTI, close: ']', ...HASH_BRACE }),
    quoted('%{', { ...MULTI, close: '}', ...HASH_BRACE }),
  ],
  regexLiterals: true,
  heredoc: /<<[-~]?(["'`]?)([A-Za-z_]\w*)\1/,
};
const shell: Syntax = {
  ...HASH,
  commentAt: 'word',
  strings: [
    quoted("$'", { ...MULTI, close: "'" }),
    quoted('"', {
      ...MULTI,
      holes: [
        ['$(', ')'],
        ['${', '}'],
      ],
    }),
    quoted("'", RAW),
  ],
  charEscape: '\\',
  heredoc: /<<[-~]?\s*(["']?)([A-Za-z_]\w*)\1/,
};
const lisp: Syntax = {
  lineComments: [';'],
  blockComments: [['#|', '|#']],
  strings: [quoted('"', MULTI)],
  charEscape: '\\',
  loneQuote: true,
};

const byName: Readonly<Record<string, Syntax>> = {
  c,
  go: { ...SLASHES, strings: [...PLAIN, quoted('`', RAW)] },
  java: { ...SLASHES, strings: [quoted('"""', MULTI), ...PLAIN] },
  csharp: {
    ...SLASHES,
    strings: [
      quoted('"""', RAW),
      { ...quoted('@"', DOUBLED), close: '"' },
      { ...quoted('$@"', DOUBLED), close: '"' },
      ...PLAIN,
    ],
  },
  kotlin: {
    ...SLASHES,
    nestedComments: true,
    strings: [quoted('"""', { ...RAW, ...DOLLAR_BRACE }), quoted('"', DOLLAR_BRACE), quoted("'")],
  },
  swift: {
    ...SLASHES,
    nestedComments: true,
    strings: [
      { ...quoted('#"', RAW), close: '"#' },
      quoted('"""', { ...MULTI, holes: [['\\(', ')']] }),
      quoted('"', { holes: [['\\(', ')']] }),
    ],
  },
  rust: {
    ...SLASHES,
    nestedComments: true,
    strings: [
      { ...quoted('r##"', RAW), close: '"##' },
      { ...quoted('r#"', RAW), close: '"#' },
      quoted('"', MULTI),
    ],
    loneQuote: true,
  },
  php: {
    lineComments: ['//', '#'],
    blockComments: [SLASH_STAR, ['?>', '<?']],
    strings: [quoted('"', MULTI), quoted("'", MULTI), quoted('`', MULTI)],
    heredoc: /<<<\s*(["']?)([A-Za-z_]\w*)\1/,
    startsAfter: '<?',
  },
  groovy,
  javascript,
  jsx: { ...javascript, elements: true },
  python: { ...HASH, strings: [...TRIPLE, ...PLAIN], prefixes: /^[rbfu]{1,2}$/i },
  ruby,
  elixir: {
    ...HASH,
    strings: [
      quoted('"""', { ...MULTI, ...HASH_BRACE }),
      quoted("'''", MULTI),
      quoted('"', { ...MULTI, ...HASH_BRACE }),
      quoted("'", MULTI),
      ...bracketed('~s ~w ~c ~r', HASH_BRACE),
      ...bracketed('~S ~W ~C ~R'),
    ],
    charEscape: '?',
  },
  erlang: {
    lineComments: ['%'],
    blockComments: [],
    strings: [quoted('"', MULTI), quoted("'", MULTI)],
    charEscape: '$',
  },
  perl: {
    ...HASH,
    commentAt: 'word',
    blockComments: [['\n=', '\n=cut']],
    strings: [
      quoted('"', MULTI),
      quoted("'", MULTI),
      quoted('`', MULTI),
      ...bracketed('q qq qw qr', { operator: true }),
    ],
    regexLiterals: true,
    charEscape: '\\',
    heredoc: /<<~?(["']?)([A-Za-z_]\w*)\1/,
  },
  shell,
  lua: {
    lineComments: ['--'],
    blockComments: [
      ['--[[', ']]'],
      ['--[=[', ']=]'],
    ],
    strings: [...PLAIN, { ...quoted('[[', RAW), close: ']]' }, { ...quoted('[=[', RAW), close: ']=]' }],
  },
  r: { ...HASH, strings: [quoted('"', MULTI), quoted("'", MULTI), quoted('`', MULTI)] },
  haskell: {
    lineComments: ['--'],
    blockComments: [['{-', '-}']],
    nestedComments: true,
    strings: [quoted('"')],
    loneQuote: true,
  },
  lisp,
  vim: {
    lineComments: ['"'],
    blockComments: [],
    commentAt: 'line',
    strings: [quoted('"'), quoted("'", { escape: 'double' })],
  },
  sql: {
    lineComments: ['--'],
    blockComments: [SLASH_STAR],
    strings: [quoted("'", DOUBLED), quoted('"', DOUBLED), quoted('`', RAW), quoted('$$', RAW)],
  },
  css: { lineComments: [], blockComments: [SLASH_STAR], strings: PLAIN },
  scss: { ...SLASHES, strings: PLAIN },
  hcl: {
    lineComments: ['#', '//'],
    blockComments: [SLASH_STAR],
    strings: [quoted('"', DOLLAR_BRACE)],
    heredoc: /<<[-~]?(["']?)([A-Za-z_]\w*)\1/,
  },
  graphql: { ...HASH, strings: [quoted('"""', MULTI), quoted('"')] },
  toml: {
    ...HASH,
    strings: [quoted('"""', MULTI), quoted("'''", RAW), quoted('"'), quoted("'", { escape: 'none' })],
  },
  json: { ...SLASHES, strings: [quoted('"')] },
  config: { ...HASH, commentAt: 'word', strings: PLAIN, charEscape: '\\' },
  cmake: {
    ...HASH,
    blockComments: [['#[[', ']]']],
    strings: [quoted('"', MULTI), { ...quoted('[[', RAW), close: ']]' }],
  },
};

/** Every syntax by the name that languages.ts uses. */
export const SYNTAXES: ReadonlyMap<string, Syntax> = new Map(Object.entries(byName));
