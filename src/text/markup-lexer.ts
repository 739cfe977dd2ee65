import { codeQuotes, type QuoteGroup } from './code-lexer.ts';
import { curlyUse } from './curly-literal.ts';
import { scanTag } from './element-lexer.ts';
import { SYNTAXES, type Syntax } from './syntax.ts';

/** Attribute values; nothing between the marks is escaped. */
const ATTRIBUTES: Syntax = {
  lineComments: [],
  blockComments: [],
  strings: ['"', "'"].map((mark) => ({ open: mark, close: mark, escape: 'none', multiline: true })),
};
const EMBEDDED: ReadonlyMap<string, string> = new Map([
  ['script', 'javascript'],
  ['style', 'css'],
]);

/** The typographic quotes in HTML and XML that stand as code: around attribute values, and in scripts and styles. */
export function markupQuotes(text: string): QuoteGroup[] {
  const found: QuoteGroup[] = [];
  const marks = /<!--|<!\[CDATA\[|<(?=[A-Za-z/?!])/g;
  const hooks = {
    end: text.length,
    code: (at: number): number => at,
    curly: (at: number): number => {
      const use = curlyUse(text, at, ATTRIBUTES);
      if (use.quotes.length > 0) found.push(use.quotes);
      return use.next;
    },
  };
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] === '<') {
      const tag = scanTag(text, mark.index, hooks);
      marks.lastIndex = tag.kind === 'opening' ? embedded(text, tag, found) : tag.next;
    } else marks.lastIndex = behind(text, mark[0] === '<!--' ? '-->' : ']]>', mark.index);
  }
  return found;
}

/** Scans the content of a script or style; returns where markup goes on. */
function embedded(text: string, tag: { name: string; next: number }, found: QuoteGroup[]): number {
  const syntax = SYNTAXES.get(EMBEDDED.get(tag.name) ?? '');
  if (syntax === undefined) return tag.next;
  const closing = new RegExp(`</${tag.name}`, 'gi');
  closing.lastIndex = tag.next;
  const end = closing.exec(text)?.index ?? text.length;
  found.push(...codeQuotes(text, syntax, { start: tag.next, end }));
  return end;
}

function behind(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at === -1 ? text.length : at + mark.length;
}
