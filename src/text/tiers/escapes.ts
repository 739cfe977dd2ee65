import { endingUsed, withEnding } from '../endings.ts';
import { findAnchor } from '../match.ts';
import type { Landing, Rivals, Texts } from './landing.ts';

/** One way in which a text may have been escaped once too often: what stands there, and what was meant. */
type Escapes = Readonly<Record<string, string>>;

const QUOTES: Escapes = { '\\"': '"', "\\'": "'", '\\`': '`' };
const BACKSLASH: Escapes = { '\\\\': '\\' };
const LINES: Escapes = { '\\n': '\n', '\\t': '\t', '\\r\\n': '\n' };
const ENTITIES: Escapes = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&#39;': "'",
  '&#x27;': "'",
  '&apos;': "'",
  '&nbsp;': ' ',
};

/** Strictest first: each undoes only what it names. */
const WAYS: readonly Escapes[] = [
  QUOTES,
  ENTITIES,
  LINES,
  BACKSLASH,
  { ...QUOTES, ...BACKSLASH },
  { ...LINES, ...QUOTES },
  { ...LINES, ...QUOTES, ...BACKSLASH },
];

/**
 * An anchor that was escaped once too often. It is found if undoing one way of escaping gives text that stands in exactly
 * one place. The new text is undone the same way, and only as far as the anchor shows that it was escaped; if it holds more
 * escapes of that way, nobody knows what they mean, and the edit is refused. HTML escapes every character or none.
 */
export function landEscaped(text: string, { oldString, newString }: Texts): Landing | Rivals | undefined {
  for (const way of WAYS) {
    const anchor = undone(oldString, way);
    if (anchor.used.size === 0) continue;
    const found = findAnchor(text, anchor.text, { loosest: 'line-endings' });
    if (found === undefined) continue;
    if (found.count > 1) return { spans: found.spans };
    const [span] = found.spans;
    const replacement = undone(newString, way);
    if (span === undefined || (way !== ENTITIES && hasMore(replacement.used, anchor.used))) return undefined;
    const used = endingUsed(text.slice(span.start, span.end)) ?? endingUsed(text);
    return {
      tier: 'escapes',
      span,
      replacement: withEnding(replacement.text, used === 'mixed' ? undefined : used),
    };
  }
  return undefined;
}

function hasMore(these: ReadonlySet<string>, those: ReadonlySet<string>): boolean {
  return [...these].some((each) => !those.has(each));
}

/** The text without these escapes, and which of them it had. */
function undone(text: string, way: Escapes): { readonly text: string; readonly used: ReadonlySet<string> } {
  const used = new Set<string>();
  const pattern = way['&lt;'] === undefined ? /\\(?:r\\n|[\s\S])/g : /&(?:#?\w{2,5});/g;
  const plain = text.replace(pattern, (written) => {
    const meant = way[written];
    if (meant === undefined) return written;
    used.add(written);
    return meant;
  });
  return { text: plain, used };
}
