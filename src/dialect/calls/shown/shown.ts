import { shownBefore } from '../../../text/diff-rows.ts';
import type { Answer } from '../answer.ts';
import type { ShownForm } from '../table.ts';
import type { ReadTouch, Touch } from '../touch.ts';
import { delivered, type ShownLines } from './delivered.ts';
import { readText } from './read-text.ts';

type Sections = Extract<ShownForm, { as: 'sections' }>;

/**
 * The lines of files that an answer showed. Skips a file if its lines are uncertain, for example
 * because another file's text may be mixed in. The session only has to read a skipped file again. A
 * line that wrongly counts as seen could be overwritten unseen.
 */
export function shownLines(touches: readonly Touch[], answer: Answer): ShownLines[] {
  const reads = touches.filter((touch): touch is ReadTouch => touch.does === 'read');
  const [first] = reads;
  if (first === undefined || !answer.ok) return [];
  if (answer.media === true) return reads.length === 1 ? [{ path: first.path, clamped: true }] : [];
  const texts = answer.texts ?? [];
  if (first.shown.as === 'sections') return sectionsShown(first.shown, reads, texts[0] ?? '');
  return reads.flatMap((read) => shownOf(read, answer, texts));
}

function shownOf(read: ReadTouch, answer: Answer, texts: readonly string[]): ShownLines[] {
  const { shown: form, path, asked } = read;
  switch (form.as) {
    case 'verbatim':
      return texts[0] === undefined ? [] : delivered(path, asked, withoutHeader(texts[0], form.header));
    case 'found':
      return texts.length === 0 ? [] : [{ path, content: texts.join('\n'), isFound: true }];
    case 'diff': {
      const { ranges, content } = shownBefore(texts[0] ?? '');
      return ranges.length === 0 ? [] : [{ path, ranges, content, how: 'output' }];
    }
    case 'lines':
    case 'output':
    case 'receipts':
      return [readText(read, answer) ?? []].flat();
    case 'sections':
      return [];
    default:
      return form satisfies never;
  }
}

/**
 * Splits a text with one section per file. A mark with the path begins each section, but the text
 * of a file can forge that mark. The mark of a file must therefore occur exactly as often as the
 * call requests the file. If this is not true of the next file, the current file and all later ones
 * are skipped.
 */
function sectionsShown(marks: Sections, reads: readonly ReadTouch[], text: string): ShownLines[] {
  const found: ShownLines[] = [];
  let at = 0;
  for (const [index, read] of reads.entries()) {
    const next = reads[index + 1]?.path;
    const times = reads.slice(index + 1).filter(({ path }) => path === next).length;
    const end = endOf(marks, text, { at, next, times });
    if (end === undefined) break;
    const body = bodyOf(marks, read.path, text.slice(at, end));
    if (body !== undefined)
      found.push(...delivered(read.path, read.asked, withoutHeader(body, marks.header)));
    at = end + marks.between.length;
  }
  return found;
}

/** The end of a section, where the mark of the next path begins; undefined if a mark may be forged. */
function endOf(
  marks: Sections,
  text: string,
  place: { readonly at: number; readonly next: string | undefined; readonly times: number },
): number | undefined {
  if (place.next === undefined) return text.length;
  const mark = `${marks.between}${opening(marks).replace('PATH', () => place.next ?? '')}`;
  const first = text.indexOf(mark, place.at);
  let found = 0;
  for (let at = first; at >= 0 && found <= place.times; at = text.indexOf(mark, at + 1)) found++;
  return found === place.times ? first : undefined;
}

/**
 * The common beginning of two marks: `open` (before a readable file) and `failed` (before a file
 * that could not be read).
 */
function opening(marks: Sections): string {
  let length = 0;
  while (length < marks.open.length && marks.open[length] === marks.failed[length]) length++;
  return marks.open.slice(0, length);
}

function bodyOf(marks: Sections, path: string, section: string): string | undefined {
  const open = marks.open.replace('PATH', () => path);
  const failed = marks.failed.replace('PATH', () => path);
  if (section.startsWith(failed) || !section.startsWith(open)) return undefined;
  const end = section.length - marks.close.length;
  return section.endsWith(marks.close) && end >= open.length ? section.slice(open.length, end) : undefined;
}

/** The text without the header that the server added. */
function withoutHeader(text: string, header: string | undefined): string {
  if (header === undefined || !text.startsWith(header)) return text;
  const end = text.indexOf('\n');
  if (end < 0) return '';
  return text.slice(text.startsWith('\n', end + 1) ? end + 2 : end + 1);
}
