import {
  type ArrayNode,
  type ConfigNode,
  type MemberNode,
  type ObjectNode,
  ScanProblem,
  type StringNode,
} from './node.ts';

const MAX_DEPTH = 200;

/**
 * Reads JSON with comments and trailing commas, with the position of every value. Returns undefined
 * for a text without any value. Throws a ScanProblem at the first error.
 */
export function scanJson(text: string): ConfigNode | undefined {
  const scanner = new JsonScanner(text);
  scanner.skip();
  if (scanner.at === text.length) return undefined;
  const node = scanner.value(0);
  scanner.skip();
  if (scanner.at < text.length) throw new ScanProblem('text after the end of the document', scanner.at);
  return node;
}

/** The first position at or after `from` that is neither white space nor in a comment. */
export function skipJsonBlanks(text: string, from: number): number {
  const scanner = new JsonScanner(text);
  scanner.at = from;
  scanner.skip();
  return scanner.at;
}

/** True if a line comment between `from` and `to` extends to `to`. `from` must be outside of any comment. */
export function endsInLineComment(text: string, from: number, to: number): boolean {
  const token = /[^/]+|\/\/[^\r\n]*|\/\*.*?\*\/|\//sy;
  let last = '';
  for (token.lastIndex = from; token.lastIndex < to; ) last = token.exec(text)?.[0] ?? '';
  return last.startsWith('//');
}

class JsonScanner {
  readonly #text: string;
  at: number;

  constructor(text: string) {
    this.#text = text;
    this.at = text.startsWith('\ufeff') ? 1 : 0;
  }

  skip(): void {
    // Match one blank or comment at a time: one pattern for all of them would need memory for each
    // repetition.
    const blank = /[ \t\r\n]+|\/\/[^\r\n]*|\/\*.*?\*\//sy;
    for (blank.lastIndex = this.at; blank.test(this.#text); ) this.at = blank.lastIndex;
    if (this.#text.startsWith('/*', this.at)) throw new ScanProblem('a comment without an end', this.at);
  }

  value(depth: number): ConfigNode {
    if (depth > MAX_DEPTH) throw new ScanProblem('nested too deeply', this.at);
    switch (this.#text[this.at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      default:
        return this.#other();
    }
  }

  #object(depth: number): ObjectNode {
    const from = this.at;
    const members: MemberNode[] = [];
    this.#list('}', () => {
      if (this.#text[this.at] !== '"') throw new ScanProblem('expected a key in double quotes', this.at);
      const key = this.#string();
      this.skip();
      if (this.#text[this.at] !== ':') throw new ScanProblem('expected a colon', this.at);
      this.at += 1;
      this.skip();
      members.push({ key: key.value, from: key.from, value: this.value(depth + 1) });
    });
    return { kind: 'object', from, to: this.at, members };
  }

  #array(depth: number): ArrayNode {
    const from = this.at;
    const items: ConfigNode[] = [];
    this.#list(']', () => {
      items.push(this.value(depth + 1));
    });
    return { kind: 'array', from, to: this.at, items };
  }

  /**
   * Reads the items between the bracket at this position and `close`, separated by commas, with an
   * optional comma after the last.
   */
  #list(close: string, item: () => void): void {
    this.at += 1;
    this.skip();
    while (this.#text[this.at] !== close) {
      item();
      this.skip();
      if (this.#text[this.at] === ',') {
        this.at += 1;
        this.skip();
      } else if (this.#text[this.at] !== close)
        throw new ScanProblem(`expected a comma or "${close}"`, this.at);
    }
    this.at += 1;
  }

  #string(): StringNode {
    const from = this.at;
    let end = this.#text.indexOf('"', from + 1);
    while (end >= 0 && isEscaped(this.#text, end)) end = this.#text.indexOf('"', end + 1);
    if (end < 0) throw new ScanProblem('a string without an end', from);
    this.at = end + 1;
    try {
      const value: string = JSON.parse(this.#text.slice(from, this.at));
      return { kind: 'string', from, to: this.at, value };
    } catch {
      throw new ScanProblem('not a valid string', from);
    }
  }

  #other(): ConfigNode {
    const literal = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y;
    literal.lastIndex = this.at;
    const from = this.at;
    if (literal.exec(this.#text) === null) throw new ScanProblem('expected a value', from);
    this.at = literal.lastIndex;
    return { kind: 'other', from, to: this.at };
  }
}

/** True if an odd number of backslashes precedes this position. */
function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
