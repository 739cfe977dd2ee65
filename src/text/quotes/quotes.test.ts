import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSeedCode } from './languages.ts';
import { detectCurlyQuotes, hasSuspiciousUnicode, straightenContent, straightenQuotes } from './quotes.ts';

const code = (path: string, text: string) => straightenContent(path, text, { mode: 'code' });
/** Replaces `§` by a dollar sign. A literal `${` in a plain string would look like a mistake. */
const dollars = (text: string) => text.replaceAll('§', '$');

/** Code with typographic quotes: the file, the code, and what it should become. */
const STRAIGHTENED: readonly (readonly [path: string, text: string, expected: string])[] = [
  ['a.ts', 'const a = “hello”\n', 'const a = "hello"\n'],
  ['a.ts', 'f(‘a’, “b”)', 'f(\'a\', "b")'],
  ['a.ts', 'import x from “y”;', 'import x from "y";'],
  ['a.ts', 'const a = “hello";', 'const a = "hello";'],
  ['a.ts', 'const a = “it’s”;', 'const a = "it’s";'],
  ['a.ts', 'const a = ‘don’t’;', "const a = 'don’t';"],
  ['a.ts', 'const a = “a \\” b”;', 'const a = "a \\” b";'],
  ['a.ts', 'const a = `§{f(“x”)} “y”`;', 'const a = `§{f("x")} “y”`;'],
  ['a.ts', 'const a = `§{`§{“x”}`} ‘y’`, b = ‘z’;', 'const a = `§{`§{"x"}`} ‘y’`, b = \'z\';'],
  ['a.ts', 'if (/["“]/.test(s)) return “x”;', 'if (/["“]/.test(s)) return "x";'],
  ['a.ts', 'const half = a / b, s = “x” / 2;', 'const half = a / b, s = "x" / 2;'],
  ['X.TS', 'let a = “b”', 'let a = "b"'],
  [
    'a.tsx',
    'const a = <p title=“x” id={“y”}>Say “hi”, {f(“z”)}</p>;',
    'const a = <p title="x" id={"y"}>Say “hi”, {f("z")}</p>;',
  ],
  ['a.tsx', 'return <><br/>“hi”</>, “x”', 'return <><br/>“hi”</>, "x"'],
  ['a.js', 'x = a < b && “c”', 'x = a < b && "c"'],
  ['a.py', 'print(f“{x}”, r‘a\\d’)  # say “hi”\n', 'print(f"{x}", r\'a\\d\')  # say “hi”\n'],
  ['a.py', 'def f():\n    “““Doc of “f”.”””', 'def f():\n    """Doc of “f”."""'],
  ['a.py', 'def f():\n    “““Doc of f.”””', 'def f():\n    """Doc of f."""'],
  ['a.py', '"""Doc “x”."""\na = “b”', '"""Doc “x”."""\na = "b"'],
  [
    'a.c',
    "#include “a.h”\nint n = 1'000; char *s = L“x”; // “c”",
    '#include "a.h"\nint n = 1\'000; char *s = L"x"; // “c”',
  ],
  ['a.go', 'a := `“raw”` + “b”', 'a := `“raw”` + "b"'],
  [
    'a.rs',
    'fn f<’a>(x: &’a str) { let c = ‘x’; /* /* “ */ “ */ g(“y”) }',
    "fn f<'a>(x: &'a str) { let c = 'x'; /* /* “ */ “ */ g(\"y\") }",
  ],
  ['a.rs', "let l: &'a str = “x”; let q = '\"'; f(“y”)", 'let l: &\'a str = "x"; let q = \'"\'; f("y")'],
  ['a.cs', 'var p = @"C:\\“dir”\\"; var s = “x”;', 'var p = @"C:\\“dir”\\"; var s = "x";'],
  ['a.swift', 'let a = "\\(f(“x”)) “y”"', 'let a = "\\(f("x")) “y”"'],
  ['a.kt', 'val a = "§{m[“k”]} “y”"', 'val a = "§{m["k"]} “y”"'],
  [
    'a.php',
    '<p>“text”</p><?php echo “hi”; ?> “text” <?= ‘x’ ?>',
    '<p>“text”</p><?php echo "hi"; ?> “text” <?= \'x\' ?>',
  ],
  [
    'a.rb',
    'puts “a”\nx = <<~EOS + “b”\n  “text”\nEOS\ny = ‘c’',
    'puts "a"\nx = <<~EOS + "b"\n  “text”\nEOS\ny = \'c\'',
  ],
  ['a.sh', 'echo “hi $x” # “c”\necho don’t \\" “a”', 'echo "hi $x" # “c”\necho don’t \\" "a"'],
  ['a.sh', 'cat << EOF\n“text”\nEOF\ngit commit -m “x y”', 'cat << EOF\n“text”\nEOF\ngit commit -m "x y"'],
  ['a.sh', 'echo "$(f “x”) “y”" §{#a} “z”', 'echo "$(f "x") “y”" §{#a} "z"'],
  [
    'a.rb',
    'a = %q(“x”)\nb = %w[“y” ‘z’]\nc = %(“d” #{f(“e”)})\ng = “h”',
    'a = %q(“x”)\nb = %w[“y” ‘z’]\nc = %(“d” #{f("e")})\ng = "h"',
  ],
  [
    'a.pl',
    'my $a = q{“x”}; my $b = qq(“y”); seq(“z”); $q{“k”} = “v”;',
    'my $a = q{“x”}; my $b = qq(“y”); seq("z"); $q{"k"} = "v";',
  ],
  ['a.pl', 'if ($q<5) { print "a > “b”"; }', 'if ($q<5) { print "a > “b”"; }'],
  ['a.ex', 's = ~s(“x”)\nt = ~S{“y”}\nu = “z”', 's = ~s(“x”)\nt = ~S{“y”}\nu = "z"'],
  ['a.sql', "select ‘a’, 'it''s “x”', “col” -- “c”", "select 'a', 'it''s “x”', \"col\" -- “c”"],
  ['a.lua', 'local a = “x” --[[ “c” ]] .. [[ “raw” ]]', 'local a = "x" --[[ “c” ]] .. [[ “raw” ]]'],
  ['a.hs', "f' = “x” {- “c {- ” -} “ -} -- “d”", 'f\' = "x" {- “c {- ” -} “ -} -- “d”'],
  ['a.el', '(setq x ’y z “s”) ; “c”', '(setq x \'y z "s") ; “c”'],
  ['a.vim', '" say “hi”\nlet a = “x”', '" say “hi”\nlet a = "x"'],
  ['a.css', 'a::before { content: “x”; } /* “c” */', 'a::before { content: "x"; } /* “c” */'],
  ['a.tf', 'name = “x” # “c”\nb = "§{f(“y”)}"', 'name = "x" # “c”\nb = "§{f("y")}"'],
  ['a.toml', "a = “x” # “c”\nb = 'C:\\'\nc = “y”", 'a = "x" # “c”\nb = \'C:\\\'\nc = "y"'],
  [
    'a.html',
    '<a href=“x”>“text” it’s</a><script>f(“y”)</script><!-- “c” -->',
    '<a href="x">“text” it’s</a><script>f("y")</script><!-- “c” -->',
  ],
  ['a.xml', '<a b=“x” c="“y”"/>', '<a b="x" c="“y”"/>'],
  ['a.yaml', 'a: “x”\n“k”: b\n- ‘y’ # c\nd: [“x”, ‘z’]', 'a: "x"\n"k": b\n- \'y\' # c\nd: ["x", \'z\']'],
  ['.env', 'export A=“x y”\nB=‘z’', 'export A="x y"\nB=\'z\''],
  ['.env.local', 'A=“x”', 'A="x"'],
  ['a.ini', '; “c”\n[s]\na = “x”', '; “c”\n[s]\na = "x"'],
  ['Makefile', 'all:\n\techo “x” # “c”', 'all:\n\techo "x" # “c”'],
  ['Dockerfile', 'ENV A=“x”\nCMD [“node”, “a.js”]', 'ENV A="x"\nCMD ["node", "a.js"]'],
  ['a.json', '{“a”: “b”}', '{"a": "b"}'],
  ['tsconfig.json', '{ // “c”\n “a”: "“b”" }', '{ // “c”\n "a": "“b”" }'],
];

/** Files with typographic quotes that are data or prose. */
const KEPT: readonly (readonly [path: string, text: string])[] = [
  ['a.md', 'She said “hello”.'],
  ['a.txt', '“x”'],
  ['a.rst', '“x”'],
  ['a.unknown', '“x”'],
  ['README', '“x”'],
  ['.gitignore', '“x”'],
  ['a.ts', '// “comment” it’s\n/* “more” */'],
  ['a.ts', 'const a = "say “hi”, it’s", b = \'“x”\';'],
  ['a.ts', 'const a = `say “hi”\n“there”`;'],
  ['a.ts', 'const a = “never closed'],
  ['a.ts', 'const a = “say "hi"”;'],
  ['a.ts', 'const re = /“[^”]*”/g;'],
  ['a.tsx', 'const a = <p>It’s “fine”, they said: “ok”</p>;'],
  ['a.tsx', 'const a = (\n  <div>\n    “Quoted” text\n  </div>\n);'],
  ['a.py', 's = "“a”" \'“b”\' # “c”'],
  ['a.py', 'x = """a\n“b”\n"""'],
  ['a.html', '<p title="“x”">“text”, it’s</p>'],
  ['a.html', '<style>/* “c” */</style><script>// “c”\n</script>'],
  ['a.yaml', 'title: She said “hello” to me\ntext: |\n  “quoted”\n  “more”\nother: “a” and “b”'],
  ['a.yaml', 'a: "one\n  “two”\n  three"\n# “c”'],
  ['a.yaml', 'path: “C:\\dir”'],
  ['a.sh', 'echo don’t'],
  ['a.json', '{"a": "say “hi”", "b": "it’s"}'],
  ['a.json', '{"a": ‘b’}'],
  ['a.sql', "-- “c”\nselect '“x” it’’s'"],
  ['a.sql', 'do $$ begin raise “x”; end $$'],
  ['a.rb', 'x\n=begin\n“x”\n=end'],
  ['a.ts', 'f(“a "b" c”, “d”)'],
];

const CORPUS = [...STRAIGHTENED, ...KEPT.map(([path, text]) => [path, text, text] as const)].map(
  ([path, text, expected]) => [path, dollars(text), dollars(expected)] as const,
);

describe('straightenContent in mode code', () => {
  it('straightens most quotes that are code, and leaves the rest as they are', () => {
    const right = CORPUS.filter(([path, text, expected]) => code(path, text).text === expected);
    expect([right.length, CORPUS.length]).toEqual([58, 81]);
  });

  it.each(CORPUS)('never changes a quote that is data or prose in %s: %j', (path, text, expected) => {
    const got = code(path, text).text;
    expect([...got].filter((character, at) => character !== text[at] && character !== expected[at])).toEqual(
      [],
    );
    expect(got).toHaveLength(text.length);
  });

  it('counts the replaced quotes', () => {
    expect(code('a.ts', 'f(“a”, “b", "“c”")')).toEqual({ text: 'f("a", "b", "“c”")', count: 3 });
  });

  it("changes only literals that are entirely within the model's text", () => {
    const text = 'a = “x”; b = “y”; c = “z”;';
    const within = [{ start: text.indexOf('b'), end: text.indexOf('b') + 9 }];
    expect(straightenContent('a.ts', text, { mode: 'code', within })).toEqual({
      text: 'a = “x”; b = "y"; c = “z”;',
      count: 2,
    });
    const half = [{ start: 0, end: 6 }];
    expect(straightenContent('a.ts', text, { mode: 'code', within: half }).count).toBe(0);
    const all = [
      { start: 0, end: 10 },
      { start: 18, end: text.length },
    ];
    expect(straightenContent('a.ts', text, { mode: 'all', within: all }).text).toBe(
      'a = "x"; b = “y”; c = "z";',
    );
  });

  it('never changes valid JSON', () => {
    const string = fc.string({
      unit: fc.constantFrom('“', '”', '‘', '’', '"', '\\', '\n', 'a', ' ', '/', '*', '{', ':'),
    });
    const value = fc.anything({
      values: [string, fc.integer(), fc.constant(null)],
      key: string,
      withNullPrototype: false,
    });
    fc.assert(
      fc.property(fc.dictionary(string, value), fc.constantFrom(undefined, 2), (given, space) => {
        const text = JSON.stringify(given, null, space);
        expect(code('a.json', text)).toEqual({ text, count: 0 });
      }),
    );
  });

  it('makes JSON with curly delimiters valid, and does not change its strings', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '’', '1'), maxLength: 8 });
    fc.assert(
      fc.property(fc.dictionary(word, word), (given) => {
        const text = JSON.stringify(given).replaceAll(/"([^"]*)"/g, '“$1”');
        expect(JSON.parse(code('a.json', text).text)).toEqual(given);
      }),
    );
  });

  it('keeps the length and all other characters, for any text and language', () => {
    const part = fc.constantFrom(
      ...'“”‘’"\'`/*\\<>{}()#$-=;:%\n aé'.split(''),
      '//',
      '/*',
      '*/',
      '"""',
      '${',
      '#{',
      '<<EOF\n',
      '\nEOF\n',
      '<p>',
      '</p>',
      '--',
      '<script>',
      '</script>',
      '[[',
      ']]',
    );
    const text = fc.array(part, { maxLength: 60 }).map((parts) => dollars(parts.join('')));
    const paths = [
      'a.ts',
      'a.tsx',
      'a.py',
      'a.rs',
      'a.rb',
      'a.sh',
      'a.html',
      'a.yaml',
      'a.php',
      'a.sql',
      'a.swift',
      'a.kt',
      'a.go',
      'a.css',
      'a.toml',
      'a.json',
      'a.tf',
      'a.c',
      'a.cs',
    ];
    fc.assert(
      fc.property(text, fc.constantFrom(...paths), (given, path) => {
        const { text: got, count } = code(path, given);
        const plain = (some: string) => some.replaceAll(/[“”″]/g, '"').replaceAll(/[‘’′]/g, "'");
        expect(plain(got)).toBe(plain(given));
        expect([...got].filter((character, at) => character !== [...given][at])).toHaveLength(count);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a.ts', '“'.repeat(100_000)],
    ['a.ts', '‘a’b'.repeat(100_000)],
    ['a.ts', `${'/['.repeat(50_000)}“”`],
    ['a.ts', `${'`§{'.repeat(100_000)}“”`],
    ['a.tsx', `${'= <a '.repeat(100_000)}“”`],
    ['a.yaml', `“a”: ${' '.repeat(500_000)}x\n`],
    ['a.yaml', `“a”${'x: > '.repeat(100_000)}\n`],
    ['a.sh', `${'<<A '.repeat(20_000)}“”`],
  ])('is fast on contrived text in %s', (path, text) => {
    expect(code(path, dollars(text)).text).toHaveLength(text.length);
  });
});

describe('straightenContent in the other modes', () => {
  it.each([
    ['a.ts', '“a” ‘b’ 5′ 6″ «c»', '"a" \'b\' 5\' 6" <<c>>', 8],
    ['a.ts', '// “a” "“b”"', '// "a" ""b""', 4],
    ['.env', '“a”', '"a"', 2],
    ['dir.d/X.TS', '“a”', '"a"', 2],
    ['MAKEFILE', '“a”', '"a"', 2],
    ['C:\\x\\Dockerfile', '“a”', '"a"', 2],
    ['.gitignore', '“a”', '"a"', 2],
    ['', '“a”', '"a"', 2],
    ['a.md', '“a”', '“a”', 0],
    ['a.mjs', '“a”', '“a”', 0],
    ['.env.local', '“a”', '“a”', 0],
    ['ts', '“a”', '“a”', 0],
  ])('all: %j: %j', (path, text, expected, count) => {
    expect(straightenContent(path, text, { mode: 'all' })).toEqual({ text: expected, count });
  });

  it('all: does not change any other character', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xd7ff)), (units) => {
        const text = String.fromCharCode(...units);
        fc.pre(!/[\u2018\u2019\u2032\u201c\u201d\u2033\u00ab\u00bb]/.test(text));
        expect(straightenContent('a.ts', text, { mode: 'all' })).toEqual({ text, count: 0 });
      }),
    );
  });

  it('off: changes nothing', () => {
    expect(straightenContent('a.ts', 'a = “b”', { mode: 'off' })).toEqual({ text: 'a = “b”', count: 0 });
  });

  it('straightenQuotes needs no file name', () => {
    expect(straightenQuotes('«a» “b”')).toBe('<<a>> "b"');
  });
});

describe('the code files of the preset staleness', () => {
  const extensions =
    '.go .py .js .ts .jsx .tsx .java .c .cpp .h .hpp .rs .rb .php .swift .kt .scala .cs .r .m .mm .sh .bash .zsh .fish .sql .json .yaml .yml .toml .xml .html .css .scss .less .lua .pl .pm .ex .exs .erl .hrl .hs .elm .clj .lisp .el .vim .conf .ini .env .dockerfile .tf .hcl .proto .graphql .gql .makefile .cmake .gradle'.split(
      ' ',
    );
  const names =
    'makefile dockerfile jenkinsfile vagrantfile gemfile rakefile guardfile procfile .gitignore .dockerignore .eslintrc .prettierrc'.split(
      ' ',
    );

  it('have sixty extensions and twelve names', () => {
    expect([extensions.length, names.length]).toEqual([60, 12]);
    expect(extensions.filter((extension) => !isSeedCode(`dir/a${extension.toUpperCase()}`))).toEqual([]);
    expect(names.filter((name) => !isSeedCode(`/dir/${name.toUpperCase()}`))).toEqual([]);
  });
});

describe('detectCurlyQuotes', () => {
  it('counts the eight quotes and returns their byte offsets', () => {
    expect(detectCurlyQuotes('é“a”')).toEqual({ count: 2, offsets: [2, 6] });
    expect(detectCurlyQuotes('‘’′“”″«»').count).toBe(8);
    expect(detectCurlyQuotes('"\'').count).toBe(0);
  });
});

describe('hasSuspiciousUnicode', () => {
  it.each([...'‘’′“”″«»\u00a0–—…×−'].map((character) => [true, character] as const))(
    'says %s for %j',
    (expected, text) => {
      expect(hasSuspiciousUnicode(`a${text}b`)).toBe(expected);
    },
  );

  it.each([['plain'], ['é'], ['"quoted"'], ['-']])('says false for %j', (text) => {
    expect(hasSuspiciousUnicode(text)).toBe(false);
  });
});
