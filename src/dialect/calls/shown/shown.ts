import type { LineRange } from '../../../model/coverage.ts';
import { isRecord, type JsonRecord } from '../../../model/record.ts';
import type { Shown } from '../table.ts';
import type { AskedLines, ReadStep } from '../touch.ts';
import { delivered, type ShownLines } from './delivered.ts';
import { jsonShown } from './json-shown.ts';
import { sectionsShown } from './sections-shown.ts';
import { undecorated } from './undecorated.ts';

/**
 * Which lines of which files the result of a successful call showed. A file whose part failed, was cut at an unknown
 * place, or cannot be told from its neighbours is left out: better unread than wrongly seen.
 */
export function shownLines(reads: readonly ReadStep[], content: unknown): ShownLines[] {
  const blocks = Array.isArray(content) ? content.filter(isRecord) : [];
  const [first] = reads;
  if (first === undefined) return [];
  if (blocks.some(isMedia)) return reads.length === 1 ? [{ path: first.path, clamped: true }] : [];
  const texts = blocks.flatMap((block) => (typeof block['text'] === 'string' ? [block['text']] : []));
  if (first.shown.as === 'sections') return sectionsShown(first.shown, reads, texts[0] ?? '');
  return reads.flatMap((read) => shownOf(read, texts));
}

function shownOf(read: ReadStep, texts: readonly string[]): ShownLines[] {
  const { shown, path, asked } = read;
  switch (shown.as) {
    case 'verbatim':
      return texts[0] === undefined ? [] : delivered(path, asked, undecorated(texts[0], shown));
    case 'blocks': {
      const text = blockOf(shown, path, texts);
      return text === undefined ? [] : delivered(path, asked, undecorated(text, shown));
    }
    case 'json':
      return jsonShown(shown, path, texts[0] ?? '');
    case 'described':
      return [asked === undefined ? { path } : { path, ranges: asked.map(rangeOf) }];
    case 'sections':
      return [];
    default:
      return shown satisfies never;
  }
}

function blockOf(
  shown: Extract<Shown, { as: 'blocks' }>,
  path: string,
  texts: readonly string[],
): string | undefined {
  const open = shown.open.replace('PATH', () => path);
  const at = texts.findIndex((text) => text.startsWith(open));
  const text = texts[at];
  if (text === undefined) return undefined;
  return text.length === open.length ? texts[at + 1] : text.slice(open.length);
}

function rangeOf(asked: AskedLines): LineRange {
  return { from: asked.from, to: asked.to ?? Number.MAX_SAFE_INTEGER };
}

function isMedia(block: JsonRecord): boolean {
  if (block['type'] === 'image' || block['type'] === 'audio') return true;
  const resource = block['resource'];
  return isRecord(resource) && typeof resource['blob'] === 'string';
}
