import type { LineRange } from '../../../model/coverage.ts';
import { fieldOf, parseJson } from '../../../model/record.ts';
import { shownBefore } from '../../../text/shown-before.ts';
import type { Answer } from '../answer.ts';
import type { ShownForm } from '../table.ts';
import type { AskedLines, ReadTouch, Touch } from '../touch.ts';
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
      return texts[0] === undefined ? [] : delivered(path, asked, undecorated(texts[0], form));
    case 'blocks': {
      const text = blockOf(form, path, texts);
      return text === undefined ? [] : delivered(path, asked, undecorated(text, form));
    }
    case 'json':
      return jsonShown(form, path, texts[0] ?? '');
    case 'described':
      if (asked === undefined) return [{ path }];
      return asked.length === 0 ? [] : [{ path, ranges: asked.map(rangeOf) }];
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

function blockOf(
  form: Extract<ShownForm, { as: 'blocks' }>,
  path: string,
  texts: readonly string[],
): string | undefined {
  const open = form.open.replace('PATH', () => path);
  const at = texts.findIndex((text) => text.startsWith(open));
  const text = texts[at];
  if (text === undefined) return undefined;
  return text.length === open.length ? texts[at + 1] : text.slice(open.length);
}

function rangeOf(asked: AskedLines): LineRange {
  return { from: asked.from, to: asked.to ?? Number.MAX_SAFE_INTEGER };
}

/** The lines of one file in a JSON result. */
function jsonShown(shape: Extract<ShownForm, { as: 'json' }>, path: string, text: string): ShownLines[] {
  const parsed = parseJson(text);
  const entry = shape.items === undefined ? parsed : itemOf(shape, path, parsed);
  const content = fieldOf(entry, shape.content);
  if (typeof content !== 'string') return [];
  if (shape.zero !== undefined && (fieldOf(entry, shape.zero) ?? 0) !== 0) return [];
  const first = shape.from === undefined ? undefined : fieldOf(entry, shape.from);
  if (typeof first === 'number') {
    const from = first - (shape.firstLine ?? 1) + 1;
    return delivered(path, [{ from, to: undefined }], content);
  }
  const more = [shape.more ?? []].flat().some((field) => fieldOf(entry, field) === true);
  if (!more) return [{ path, content }];
  // The text was cut at a byte count. Drop the text after the last newline, which is not a whole
  // line.
  return delivered(path, [{ from: 1, to: undefined }], content.slice(0, content.lastIndexOf('\n') + 1));
}

function itemOf(shape: Extract<ShownForm, { as: 'json' }>, path: string, parsed: unknown): unknown {
  const items = fieldOf(parsed, shape.items ?? '');
  if (!Array.isArray(items)) return undefined;
  return items.find((item: unknown) => fieldOf(item, shape.path ?? 'path') === path);
}

/**
 * Splits a text with one section per file. A mark with the path begins each section, but the text
 * of a file can forge that mark. The mark of a file must therefore occur exactly as often as the
 * call requests the file. If this is not true of the next file, the current file and all later ones
 * are skipped.
 */
function sectionsShown(marks: Sections, reads: readonly ReadTouch[], text: string): ShownLines[] {
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

/** The text without the header and the footers that the server added. */
function undecorated(text: string, decoration: Pick<Sections, 'header' | 'footers'>): string {
  return withoutFooters(withoutHeader(text, decoration.header), decoration.footers ?? []);
}

function withoutHeader(text: string, header: string | undefined): string {
  if (header === undefined || !text.startsWith(header)) return text;
  const end = text.indexOf('\n');
  if (end < 0) return '';
  return text.slice(text.startsWith('\n', end + 1) ? end + 2 : end + 1);
}

function withoutFooters(text: string, footers: readonly string[]): string {
  let end = text.length;
  let cut = false;
  for (;;) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    if (start === 0 || !footers.some((footer) => text.startsWith(footer, start))) break;
    end = start - 1;
    cut = true;
  }
  if (!cut) return text;
  // Also cut the one empty line that separates the file's lines from the first footer.
  return text.slice(0, text[end - 1] === '\n' ? end : end + 1);
}
