import { diffItems, equalStretches, type Stretch } from './diff.ts';
import { asTyped, type Folded, type FoldTier, fold, foldedOffset, sourceSpan } from './fold.ts';
import { endingUsed, type LineEnding, type Span, toLf, withEnding } from './lines.ts';

/**
 * Maximum comparisons to find what an edit's old and new text share. Beyond this limit, only their
 * equal beginning and end count as shared.
 */
const MAX_COST = 200_000;

/**
 * Writes a replacement in the style of the replaced text, `region`. `neighbour`: the line ending
 * next to it.
 */
type Restyle = (region: string, neighbour: LineEnding | undefined) => string;

/** A piece of the replacement: new text (`own`), or a stretch of the old text that the edit does not change. */
type Part = { readonly own: string } | Kept;

/** A stretch of the old text that the edit does not change. */
interface Kept extends Span {
  /** True if a line of the new text ends after this part. */
  readonly endsLine: boolean;
}

interface Place {
  readonly region: string;
  readonly anchor: string;
  readonly neighbour: LineEnding | undefined;
  readonly tier: FoldTier;
}

/**
 * Returns a function that writes an edit's replacement in the style of the text that it replaces,
 * the region.
 * - New lines get the line ending of the region or, if the region has none, of its line.
 * - If the region differs from the anchor (the edit's old text) or mixes line endings, the text
 *   that anchor and replacement share is copied from the region. So the file keeps its quotes,
 *   dashes and endings there.
 */
export function restyler(anchor: string, replacement: string, tier: FoldTier): Restyle {
  let parts: readonly Part[] | undefined;
  return (region, neighbour) => {
    const used = endingUsed(region);
    if (tier === 'exact' && used !== 'mixed') return withEnding(replacement, used ?? neighbour);
    parts ??= partsOf(toLf(anchor), toLf(replacement));
    return (
      assemble(parts, { region, anchor: toLf(anchor), neighbour, tier }) ?? withEnding(replacement, neighbour)
    );
  };
}

/**
 * Builds the replacement from its parts. Undefined if the anchor (the edit's old text) and the
 * region (the text in the file) cannot be aligned: they differ even after `fold` has removed the
 * differences that the tier tolerates.
 */
function assemble(parts: readonly Part[], place: Place): string | undefined {
  const tier = place.tier === 'exact' ? 'line-endings' : place.tier;
  const anchor = fold(place.anchor, tier);
  const region = fold(place.region, tier);
  if (anchor.text !== region.text) return undefined;
  const first = /\r?\n/.exec(place.region)?.[0];
  const own = ownStyle(place, tier);
  let ending: LineEnding | undefined = first === '\r\n' || first === '\n' ? first : place.neighbour;
  let out = '';
  for (const part of parts) {
    if ('own' in part) {
      out += withEnding(own(part.own), ending);
      continue;
    }
    const kept = keptText(part, place, { anchor, region });
    out += kept;
    ending = lastEnding(kept) ?? ending;
  }
  return out;
}

/** The file's text for a part that the edit keeps. */
function keptText(
  { start, end, endsLine }: Kept,
  place: Place,
  folded: { readonly anchor: Folded; readonly region: Folded },
): string {
  const [first, last] = [foldedOffset(folded.anchor, start), foldedOffset(folded.anchor, end)];
  const span = first < last ? sourceSpan(folded.region, first, last) : undefined;
  if (span === undefined) return place.anchor.slice(start, end);
  const { region } = place;
  let [from, to] = [withReturn(region, span.start), span.end];
  // Folding drops white space at line ends. If the part begins or ends with such white space, use
  // the white space that the file has there.
  if ((sourceSpan(folded.anchor, first, first + 1)?.start ?? start) > start)
    while (isSpace(region[from - 1])) from -= 1;
  const content = sourceSpan(folded.anchor, last - 1, last)?.end ?? end;
  // If the edit continues the line, the white space separates words: use the white space of the edit.
  if (!endsLine) return region.slice(from, to) + place.anchor.slice(content, end);
  if (content < end) while (isSpace(region[to])) to += 1;
  return region.slice(from, to);
}

function isSpace(character: string | undefined): boolean {
  return character !== undefined && /[^\S\r\n]/.test(character);
}

/**
 * Returns a function that adapts new text. If the anchor has typographic characters, such as curly
 * quotes, and the file has typed ones there, the function replaces these characters in the new text
 * by typed ones too.
 */
function ownStyle({ anchor, region }: Place, tier: FoldTier): (text: string) => string {
  const isRetyped = tier === 'punctuation' && asTyped(region, anchor) === region;
  return (text) => (isRetyped ? asTyped(text, anchor) : text);
}

/** Moves an offset from `\n` to the `\r` before it, so that a kept line ending stays whole. */
function withReturn(region: string, start: number): number {
  return region[start] === '\n' && region[start - 1] === '\r' ? start - 1 : start;
}

function lastEnding(text: string): LineEnding | undefined {
  const at = text.lastIndexOf('\n');
  if (at === -1) return undefined;
  return text[at - 1] === '\r' ? '\r\n' : '\n';
}

function partsOf(anchor: string, replacement: string): Part[] {
  const before = tokens(anchor);
  const after = tokens(replacement);
  const { hunks } = diffItems(before, after, MAX_COST);
  const beforeAt = offsets(before);
  const afterAt = offsets(after);
  const parts: Part[] = [];
  let done = 0;
  const isShared = ({ start, end, shift }: Stretch): boolean =>
    (start === 0 && shift === 0) ||
    (end === before.length && end + shift === after.length) ||
    before.slice(start, end).some(isTelling);
  for (const { start, end, shift } of equalStretches(hunks, before.length).filter(isShared)) {
    if (start === end) continue;
    const from = afterAt[start + shift] ?? 0;
    if (from > done) parts.push({ own: replacement.slice(done, from) });
    const keptEnd = beforeAt[end] ?? 0;
    done = afterAt[end + shift] ?? 0;
    // An old text that ends with white space matches only at the end of a line (see match.ts).
    const isLast = done === replacement.length && keptEnd === anchor.length;
    parts.push({
      start: beforeAt[start] ?? 0,
      end: keptEnd,
      endsLine: isLast || replacement[done] === '\n',
    });
  }
  if (done < replacement.length) parts.push({ own: replacement.slice(done) });
  return parts;
}

function tokens(text: string): string[] {
  return text.match(/\n|[^\S\n]+|[\p{L}\p{N}_]+|\.{3}|./gsu) ?? [];
}

/** The offset of each token, and the end of the last one. */
function offsets(tokens: readonly string[]): number[] {
  const at = [0];
  let length = 0;
  for (const token of tokens) {
    length += token.length;
    at.push(length);
  }
  return at;
}

/**
 * True if a token that is equal in the middle of both texts is no accident: it is a word or a line
 * end. A lone quote or bracket may be equal by accident.
 */
function isTelling(token: string): boolean {
  return /[\p{L}\p{N}\n]/u.test(token);
}
