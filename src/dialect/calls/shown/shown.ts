import type { LineRange } from '../../../model/coverage.ts';
import type { Answer } from '../answer.ts';
import type { Shown } from '../table.ts';
import type { AskedLines, ReadTouch, Touch } from '../touch.ts';
import { delivered, type ShownLines } from './delivered.ts';
import { jsonShown } from './json-shown.ts';
import { readText } from './read-text.ts';
import { sectionsShown } from './sections-shown.ts';
import { undecorated } from './undecorated.ts';

/**
 * The lines of files that an answer showed. A file whose part failed, was cut at an unknown place, or cannot be told from
 * its neighbours is left out: better unread than wrongly seen.
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
      return [asked === undefined ? { path } : { path, ranges: asked.map(rangeOf) }];
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
  form: Extract<Shown, { as: 'blocks' }>,
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
