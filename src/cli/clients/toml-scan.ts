import { type ConfigNode, type MemberNode, ScanProblem, type StringNode } from './node.ts';

/** A key and its value. The path of the key in `a.b = 1` has two parts. */
interface TomlKey {
  readonly path: readonly string[];
  readonly from: number;
  readonly value: ConfigNode;
  /** The end of the line on which the value ends, before its line break. */
  readonly lineEnd: number;
}

const MAX_DEPTH = 200;

/**
 * A table: its header, such as `[a.b]`, and the keys below it. Keys before the first header belong to a table
 * without a path.
 */
export interface TomlTable {
  readonly path: readonly string[];
  readonly isArray: boolean;
  /** Offset of the line that contains the table's header. */
  readonly from: number;
  readonly headerEnd: number;
  readonly keys: readonly TomlKey[];
}

/**
 * Reads the tables and keys of a TOML text with their positions. It checks the structure (headers,
 * keys, strings, brackets), not every date and number. Throws a ScanProblem at the first error.
 */
export function scanToml(text: string): TomlTable[] {
  const scanner = new TomlScanner(text);
  const tables: (TomlTable & { keys: TomlKey[] })[] = [];
  let table: TomlTable & { keys: TomlKey[] } = { path: [], isArray: false, from: 0, headerEnd: 0, keys: [] };
  tables.push(table);
  for (scanner.skipLines(); scanner.at < text.length; scanner.skipLines()) {
    if (scanner.peek('[')) {
      table = { ...scanner.header(), keys: [] };
      tables.push(table);
    } else table.keys.push(scanner.keyValue());
  }
  return tables;
}

class TomlScanner {
  readonly #text: string;
  at: number;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.at = text.startsWith('\ufeff') ? 1 : 0;
  }

  peek(prefix: string): boolean {
    return this.#text.startsWith(prefix, this.at);
  }

  /** Skips white space, line breaks and comments. */
  skipLines(): void {
    // Match one blank or comment at a time: one pattern for all of them would need memory for each
    // repetition.
    while (this.#take(/[ \t]+|\r?\n|#[^\r\n]*/y) !== '');
  }

  header(): Omit<TomlTable, 'keys'> {
    const from = this.#text.lastIndexOf('\n', this.at) + 1;
    const isArray = this.peek('[[');
    this.at += isArray ? 2 : 1;
    const path = this.#path();
    this.#expect(isArray ? ']]' : ']');
    return { path, isArray, from, headerEnd: this.#lineEnd() };
  }

  keyValue(): TomlKey {
    const from = this.at;
    const path = this.#path();
    this.#expect('=');
    this.#blanks();
    const value = this.#value();
    return { path, from, value, lineEnd: this.#lineEnd() };
  }

  #path(): string[] {
    const parts: string[] = [];
    do {
      this.#blanks();
      parts.push(this.#part());
      this.#blanks();
    } while (this.#takeIf('.'));
    return parts;
  }

  #part(): string {
    if (this.peek('"') || this.peek("'")) return this.#string().value;
    const bare = this.#take(/[A-Za-z0-9_-]*/y);
    if (bare === '') throw new ScanProblem('expected a key', this.at);
    return bare;
  }

  #value(): ConfigNode {
    if (this.peek('"') || this.peek("'")) return this.#string();
    if (this.peek('[')) return this.#array();
    if (this.peek('{')) return this.#inlineTable();
    const from = this.at;
    // A date may have a space before its time.
    if (this.#take(/[\w:+.-]*(?: \d\d:[\w:+.-]+)?/y) === '') throw new ScanProblem('expected a value', from);
    return { kind: 'other', from, to: this.at };
  }

  #array(): ConfigNode {
    const from = this.at;
    const items: ConfigNode[] = [];
    this.#list(']', () => items.push(this.#value()));
    return { kind: 'array', from, to: this.at, items };
  }

  #inlineTable(): ConfigNode {
    const from = this.at;
    const members: MemberNode[] = [];
    this.#list('}', () => {
      const key = { from: this.at, key: this.#path().join('.') };
      this.#expect('=');
      this.#blanks();
      members.push({ ...key, value: this.#value() });
    });
    return { kind: 'object', from, to: this.at, members };
  }

  #list(close: string, item: () => void): void {
    const from = this.at;
    this.at += 1;
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new ScanProblem('nested too deeply', from);
    this.skipLines();
    while (!this.#takeIf(close)) {
      if (this.at >= this.#text.length) throw new ScanProblem(`this bracket has no closing "${close}"`, from);
      item();
      this.skipLines();
      if (!this.#takeIf(',') && !this.peek(close) && this.at < this.#text.length)
        throw new ScanProblem(`expected a comma or "${close}"`, this.at);
      this.skipLines();
    }
    this.#depth -= 1;
  }

  #string(): StringNode {
    const from = this.at;
    const quote = this.#text[from] ?? '';
    const long = this.peek(quote.repeat(3));
    const body =
      quote === '"'
        ? long
          ? /"""(?:[^\\]|\\.)*?"{3,5}(?!")/sy
          : /"(?:[^"\\\r\n]|\\.)*"/y
        : long
          ? /'''.*?'{3,5}(?!')/sy
          : /'[^'\r\n]*'/y;
    const written = this.#take(body);
    if (written === '') throw new ScanProblem('a string without an end', from);
    return { kind: 'string', from, to: this.at, value: decoded(written, quote.length * (long ? 3 : 1)) };
  }

  /** Reads the rest of a line, which may only hold a comment. Returns the position of its end. */
  #lineEnd(): number {
    this.#take(/[ \t]*(?:#[^\r\n]*)?/y);
    if (this.at < this.#text.length && !/\r?\n/y.test(this.#text.slice(this.at, this.at + 2)))
      throw new ScanProblem('expected the end of the line', this.at);
    return this.at;
  }

  #blanks(): void {
    this.#take(/[ \t]*/y);
  }

  #expect(token: string): void {
    if (!this.#takeIf(token)) throw new ScanProblem(`expected "${token}"`, this.at);
  }

  #takeIf(token: string): boolean {
    const found = this.peek(token);
    if (found) this.at += token.length;
    return found;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [found = ''] = pattern.exec(this.#text) ?? [];
    this.at += found.length;
    return found;
  }
}

/**
 * A string's value. Decodes escapes only in a string with one pair of double quotes, and only if
 * all its escapes are valid in JSON.
 */
function decoded(written: string, quotes: number): string {
  if (quotes === 1 && written.startsWith('"'))
    try {
      return JSON.parse(written);
    } catch {
      return written.slice(1, -1);
    }
  return written.slice(quotes, -quotes);
}
