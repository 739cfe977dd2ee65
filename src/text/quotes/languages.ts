/** A language, as far as typographic quotes can be recognised in its code. */
export interface Language {
  /**
   * Matches strings and comments: the parts of code whose quotes stay as they are. A part that is
   * not understood extends to the end of the file.
   */
  readonly parts: readonly RegExp[];
  /** `double`: `'` does not delimit strings. `values`: a file of keys and values, such as YAML. */
  readonly quotes: 'both' | 'double' | 'values';
  /** Words after which a string may follow: `any`, as in shells, or those of `WORDS_BEFORE`. */
  readonly words: 'any' | 'few';
  /** A file that matches this is left unchanged, because its code and text cannot be told apart. */
  readonly unless?: RegExp;
}

/** The parts by the marks that the table below uses. In a row, only the first part may have groups. */
const PARTS = {
  '//': /\/\/.*/,
  '/*': /\/\*[\s\S]*?(?:\*\/|$)/,
  '#': /#.*/,
  'w#': /(?<![^\s;&|)])#.*/,
  '--': /--.*/,
  '"': /"(?:\\[\s\S]|[^"\\\n])*"?/,
  '"m': /"(?:\\[\s\S]|[^"\\])*"?/,
  '"s': /"(?:""|[^"])*"?/,
  "'": /(?<!\d)'(?:\\[\s\S]|[^'\\\n])*'?/,
  "'r": /'[^'\n]*'?/,
  "'m": /'[^']*'?/,
  "'c": /'(?:\\[\s\S]|[^'\\\n])'/,
  '"""': /"""(?:\\[\s\S]|[^\\])*?(?:"""|$)/,
  "'''": /'''(?:\\[\s\S]|[^\\])*?(?:'''|$)/,
  '`': /`[^`]*`?/,
  // A template in a template is not understood.
  '`$': /`(?:\\[\s\S]|\$\{[^}`]{0,300}`[\s\S]*|[^`\\])*`?/,
  '@"': /\$?@\$?"(?:""|[^"])*"?/,
  '#"': /#+"[\s\S]*?(?:"#+|$)/,
  'R"': /\b(?:L|u8?|U)?R"[\s\S]*/,
  'r"': /\bb?r(#*)"[\s\S]*?(?:"\1|$)/,
  $$: /\$(\w*)\$[\s\S]*?(?:\$\1\$|$)/,
  '\\': /\\[\s\S]/,
  '<<': /<<[-~]?\s*(["']?)([A-Za-z_]\w*)\1[\s\S]*?(?:\n[ \t]*\2\b|$)/,
  '/r': /(?<=(?:^|[=(,:;!&|?{}[+~^<>%*-]|\b(?:return|case|of))\s{0,80})\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,500}\//,
} satisfies Readonly<Record<string, RegExp>>;

/** Text in elements (`<p>text</p>`) is prose. */
const ELEMENTS = /<\/[\w>]|\/>/;
/** Block text, and quoted text of several lines, may contain lines that look like values. */
const BLOCK_TEXT = /(?:^|[:-][ \t]+)[|>][-+\d]*[ \t]*(?:#.*)?$|[:=-][ \t]+(?:"[^"\n]*|'[^'\n]*)$/m;

interface Row extends Partial<Omit<Language, 'parts'>> {
  /** The files in which the preset `staleness` replaces every quote. */
  readonly seed: string;
  readonly other?: string;
  /** Marks of `PARTS`. Absent if the language is too intricate to tell its code from text. */
  readonly parts?: string;
}

const LANGUAGES: readonly Row[] = [
  { seed: '.ts', other: '.mts .cts', parts: '// /* /r `$ " \'' },
  { seed: '.js .jsx .tsx', other: '.mjs .cjs', parts: '// /* /r `$ " \'', unless: ELEMENTS },
  { seed: '.c .cpp .h .hpp .m .mm .proto', other: '.cc .cxx .hh .dart .zig', parts: '// /* R" " \'' },
  { seed: '.java .scala .kt .cs .gradle', other: '.kts .groovy', parts: '// /* @" """ \'\'\' " \'' },
  { seed: '.swift', parts: '// /* #" """ "', quotes: 'double' },
  { seed: '.rs', parts: 'r" // /* "m \'c', quotes: 'double' },
  { seed: '.go', parts: '// /* ` " \'' },
  { seed: '.py', other: '.pyi', parts: '# """ \'\'\' " \'' },
  { seed: '.sh .bash .zsh .fish .makefile .dockerfile', parts: '<< \\ w# "m \'m', words: 'any' },
  { seed: 'makefile dockerfile procfile', parts: '<< \\ w# "m \'m', words: 'any' },
  { seed: '.sql', parts: '$$ -- /* ` \'m "s', words: 'any' },
  { seed: '.css', parts: '/* " \'' },
  { seed: '.scss .less', parts: '// /* " \'' },
  { seed: '.toml', parts: '# """ \'\'\' " \'r' },
  { seed: '.json .eslintrc .prettierrc', other: '.jsonc .json5', parts: '// /* "', quotes: 'double' },
  { seed: '.tf .hcl', other: '.tfvars', parts: '<< # // /* "', quotes: 'double', words: 'any' },
  { seed: '.graphql .gql', parts: '# """ "', quotes: 'double' },
  { seed: '.conf', parts: 'w# " \'', words: 'any' },
  { seed: '.yaml .yml .ini .env', parts: '', quotes: 'values', unless: BLOCK_TEXT },
  { seed: '.php .rb .r .xml .html .lua .pl .pm .ex .exs .erl .hrl .hs .elm .clj .lisp .el .vim .cmake' },
  { seed: 'jenkinsfile vagrantfile gemfile rakefile guardfile .gitignore .dockerignore' },
];

/** The language of a file by its name, ignoring case; undefined for prose and for unknown languages. */
export function languageOf(path: string): Language | undefined {
  const name = baseName(path);
  // `.env.local` and `Dockerfile.dev` are recognised by their beginning.
  const begun = /^(?:\.env|dockerfile)(?=\.)/.exec(name)?.[0] ?? name;
  const row = LANGUAGES.find(({ seed, other = '' }) => names(`${seed} ${other}`, begun));
  if (row?.parts === undefined) return undefined;
  const { parts, quotes = 'both', words = 'few', ...more } = row;
  return { parts: parts.split(' ').flatMap(partOf), quotes, words, ...more };
}

function partOf(mark: string): RegExp[] {
  return Object.hasOwn(PARTS, mark) ? [PARTS[mark as keyof typeof PARTS]] : [];
}

/** True if the policy preset `staleness` treats this as a code file; an empty path counts as one. */
export function isSeedCode(path: string): boolean {
  return path === '' || LANGUAGES.some(({ seed }) => names(seed, baseName(path)));
}

/** True if a list of names and extensions contains the name or its extension. */
function names(list: string, name: string): boolean {
  const dot = name.lastIndexOf('.');
  const all = list.split(' ');
  return all.includes(name) || (dot !== -1 && all.includes(name.slice(dot)));
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1).toLowerCase();
}
