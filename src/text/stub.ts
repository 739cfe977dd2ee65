const MAX_STUB_CHARS = 160;
const OPENERS = /^(?:\/\/+|\/\*+|\{\s*\/\*+|<!--+|--+|;+|%+|#+)\s*/i;
const CLOSERS = /\s*(?:\*+\/\s*\}?|--+>)$/;
const LEADING_DOTS = /^(?:\.{3,}|…)/;
const TRAILING_DOTS = /(?:\.{3,}|…)$/;

const THING =
  '(?:file|code|function|method|class|component|module|implementation|contents?|body|script|document|config(?:uration)?|' +
  'section|imports?|methods|functions|tests?|styles?|template|page|logic|handlers?|routes?|fields?|definitions?)';
const CODE = '(?:code|file|implementation|contents?|methods|functions|imports|logic)';
const SAME =
  '(?:(?:is|are|remains?|stays?|kept|left) )?(?:exactly )?(?:unchanged|the same|same as (?:before|above|the original)|' +
  'as (?:before|is|it was|above)|unmodified|untouched|omitted|not shown|intact|elided|truncated)(?: for brevity)?';
const REST = `(?:the )?(?:rest|remainder)(?: of (?:the |this |your )?(?:\\w+ )?${THING})?`;

/** Says that something is left out; believed beside a comment mark, dots or square brackets. */
const STRONG = whole([
  `${REST} ${SAME}`,
  `(?:(?:all|the|your) )*(?:existing|remaining|previous|original|other) ${CODE} ${SAME}`,
  '(?:[\\w ]+ )?(?:omitted|truncated|elided|shortened|abbreviated) for brevity',
  `keep (?:the |all |your )*(?:existing|remaining|rest of (?:the |your )?)\\s*${CODE}(?: ${SAME})?`,
]);
/** Could be an honest remark; believed only beside dots. */
const WEAK = whole([
  `(?:(?:all|the|your) )*(?:existing|remaining|previous|original|other) ${THING} ${SAME}`,
  `(?:the |your )?(?:existing|previous|remaining|original|other|more|additional) ${THING}(?: (?:goes )?here| above| below)?`,
  `${REST}(?: (?:goes )?here)?`,
  `(?:unchanged|same)(?: ${THING}| lines?| part)?`,
  'same as (?:before|above)',
  `(?:${CODE}|lines|output) (?:omitted|truncated|unchanged|elided|continues)(?: here)?`,
  'omitted|truncated|elided|snip(?:ped)?|not shown',
  '\\d+ (?:more |other |unchanged |remaining )*(?:lines?|characters|chars|bytes)(?: of this diff)?(?: (?:unchanged|omitted|truncated|not shown|hidden))?',
]);
/** As a comment of its own, without dots; a `#` could also be a heading and is not enough. */
const COMMENT = whole([
  `(?:the |your )?existing code(?: (?:goes |remains )?here| remains)?`,
  `(?:the )?rest of (?:the |your )?(?:file|code|implementation)(?: (?:goes )?here)?`,
  '(?:code|implementation) omitted',
]);

/** A stub without dots begins with one of these words; most lines do not, and looking closer costs more. */
const BEGINS =
  /^(?:[/*<!#;%{-]+)?\s*[[(<]?\s*(?:(?:the|all|your)\s+)*(?:rest|remain|existing|previous|original|other|keep|code|implementation)/i;

/**
 * Whether a whole line stands for text that its author left out: `dots` when it says so with dots or brackets
 * ("// ... existing code ..."), `remark` when it is only worded like that ("<!-- rest unchanged -->"), which could be
 * the end of a longer comment. Dots alone, headings, sentences and strings in code are none.
 */
export function stubIn(line: string): 'dots' | 'remark' | undefined {
  const trimmed = line.trim();
  if (trimmed.length > MAX_STUB_CHARS) return undefined;
  if (!hasDots(trimmed) && !BEGINS.test(trimmed) && !trimmed.includes('brevity')) return undefined;
  const signs = { comment: '', dots: false, brackets: false };
  const core = peel(trimmed, signs);
  const marked = signs.dots || signs.brackets;
  if (STRONG.test(core) && marked) return 'dots';
  if (STRONG.test(core) && signs.comment !== '') return 'remark';
  if (WEAK.test(core) && signs.dots) return 'dots';
  return COMMENT.test(core) && signs.comment !== '' && signs.comment !== '#' ? 'remark' : undefined;
}

function hasDots(line: string): boolean {
  return line.includes('...') || line.includes('…');
}

/** Takes off comment marks, dots and brackets from outside to inside, and notes them. */
function peel(line: string, signs: { comment: string; dots: boolean; brackets: boolean }): string {
  let core = line;
  for (let before = ''; before !== core; ) {
    before = core;
    const opener = OPENERS.exec(core)?.[0];
    if (opener !== undefined) {
      signs.comment ||= opener.charAt(0);
      core = core.slice(opener.length).replace(CLOSERS, '');
    }
    core = withoutDots(core.trim(), signs);
    if (/^\[.*\]$|^\(.*\)$|^<.*>$/.test(core)) {
      signs.brackets ||= core.startsWith('[');
      core = core.slice(1, -1).trim();
    }
  }
  return core
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replace(/[.:;!,]+$/, '');
}

/** Dots that touch a single word are a spread operator. */
function withoutDots(core: string, signs: { comment: string; dots: boolean }): string {
  if (signs.comment === '' && /^\.{3}[\w$]+[,;]?$/.test(core)) return core;
  const bare = core.replace(LEADING_DOTS, '').replace(TRAILING_DOTS, '');
  if (bare !== core) signs.dots = true;
  return bare.trim();
}

function whole(alternatives: readonly string[]): RegExp {
  return new RegExp(`^(?:${alternatives.join('|')})$`);
}
