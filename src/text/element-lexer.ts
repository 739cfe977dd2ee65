import { CURLY } from './curly-literal.ts';

/** What to do with what is not markup in an element; each is told where, and says where to go on. */
export interface ElementHooks {
  /** Nothing is looked at from here on. */
  readonly end: number;
  /** Code between `{` and `}`, from behind the first to behind the second. */
  code(at: number): number;
  /** A typographic quote among the attributes. */
  curly(at: number): number;
}

export interface Tag {
  /** Lower case; empty for `<>`. */
  readonly name: string;
  readonly kind: 'opening' | 'closing' | 'empty';
  readonly next: number;
}

/** Scans an element with its children, from its `<` to behind its last `>`. Text between tags is prose. */
export function scanElement(text: string, at: number, hooks: ElementHooks): number {
  const marks = /\{|<(?=[A-Za-z/>])/g;
  let depth = 0;
  let next = at;
  while (next < hooks.end) {
    if (text[next] === '{') next = hooks.code(next + 1);
    else {
      const tag = scanTag(text, next, hooks);
      next = tag.next;
      if (tag.kind === 'opening') depth += 1;
      if (tag.kind === 'closing') depth -= 1;
      if (depth <= 0) return next;
    }
    marks.lastIndex = next;
    next = marks.exec(text)?.index ?? hooks.end;
  }
  return hooks.end;
}

/** Scans one tag with its attributes, from its `<` to behind its `>`. */
export function scanTag(text: string, at: number, hooks: ElementHooks): Tag {
  const marks = new RegExp(`/?>|["'{${CURLY}]`, 'g');
  const name = /^<\/?([\w.:-]*)/.exec(text.slice(at, at + 100))?.[1]?.toLowerCase() ?? '';
  const closing = text[at + 1] === '/';
  let next = at + 1;
  while (next < hooks.end) {
    marks.lastIndex = next;
    const mark = marks.exec(text);
    if (mark === null) break;
    if (mark[0] === '>') return { name, kind: closing ? 'closing' : 'opening', next: mark.index + 1 };
    if (mark[0] === '/>') return { name, kind: closing ? 'closing' : 'empty', next: mark.index + 2 };
    next = attributeEnd(text, mark.index, hooks);
  }
  return { name, kind: 'empty', next: hooks.end };
}

function attributeEnd(text: string, at: number, hooks: ElementHooks): number {
  const mark = text.charAt(at);
  if (mark === '{') return hooks.code(at + 1);
  if (CURLY.includes(mark)) return hooks.curly(at);
  const close = text.indexOf(mark, at + 1);
  return close === -1 ? hooks.end : close + 1;
}
