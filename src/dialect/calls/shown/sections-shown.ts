import type { Decoration, SectionMarks } from '../table.ts';
import type { ReadTouch } from '../touch.ts';
import { delivered, type ShownLines } from './delivered.ts';
import { undecorated } from './undecorated.ts';

/**
 * Takes one text apart that holds a section for each file. The marks between sections can be forged by a file's own
 * text: where the next mark stands more often than it was asked for, neither that file nor any after it is counted.
 */
export function sectionsShown(
  marks: SectionMarks & Decoration,
  reads: readonly ReadTouch[],
  text: string,
): ShownLines[] {
  const [alone, ...more] = reads;
  if (marks.aloneVerbatim === true && alone !== undefined && more.length === 0)
    return delivered(alone.path, alone.asked, undecorated(text, marks));
  const found: ShownLines[] = [];
  let at = 0;
  for (const [index, read] of reads.entries()) {
    const next = reads[index + 1]?.path;
    const times = reads.slice(index + 1).filter(({ path }) => path === next).length;
    const end = endOf(marks, text, { at, next, times });
    if (end === undefined) break;
    const body = bodyOf(marks, read.path, text.slice(at, end));
    if (body !== undefined) found.push(...delivered(read.path, read.asked, undecorated(body, marks)));
    at = end + marks.between.length;
  }
  return found;
}

/** Where a section ends: before the mark that begins the next path's section, if none of those that follow is forged. */
function endOf(
  marks: SectionMarks,
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

/** How a section begins, whether it failed or not. */
function opening(marks: SectionMarks): string {
  let length = 0;
  while (length < marks.open.length && marks.open[length] === marks.failed[length]) length++;
  return marks.open.slice(0, length);
}

function bodyOf(marks: SectionMarks, path: string, section: string): string | undefined {
  const open = marks.open.replace('PATH', () => path);
  const failed = marks.failed.replace('PATH', () => path);
  if (section.startsWith(failed) || !section.startsWith(open)) return undefined;
  const end = section.length - marks.close.length;
  return section.endsWith(marks.close) && end >= open.length ? section.slice(open.length, end) : undefined;
}
