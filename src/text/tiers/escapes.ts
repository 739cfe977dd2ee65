import { endingUsed, withEnding } from '../endings.ts';
import { findAnchor } from '../match.ts';
import type { Landing, Rivals, Texts } from './landing.ts';

/** One way in which a text may have been escaped once too often: escaped forms and the characters they mean. */
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

/** Ordered from the strictest; each one reverts only the escapes it names. */
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
 * Matches an anchor that was escaped once too often: reverting one way of escaping must give text that occurs exactly
 * once. The new text is unescaped the same way, but only by escapes that the anchor contains too. If it contains others
 * of that way, their meaning is unknown and the edit is refused. HTML escapes every character or none.
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

/** The text with these escapes reverted, and the escapes that it contained. */
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
