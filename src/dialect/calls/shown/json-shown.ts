import { fieldOf } from '../../../model/record.ts';
import type { JsonShape } from '../table.ts';
import { delivered, type ShownLines } from './delivered.ts';

/** The lines of one file in a result that is JSON. */
export function jsonShown(shape: JsonShape, path: string, text: string): ShownLines[] {
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
  // The text was cut at a number of bytes: what follows the last line break is no whole line.
  return delivered(path, [{ from: 1, to: undefined }], content.slice(0, content.lastIndexOf('\n') + 1));
}

function itemOf(shape: JsonShape, path: string, parsed: unknown): unknown {
  const items = fieldOf(parsed, shape.items ?? '');
  if (!Array.isArray(items)) return undefined;
  return items.find((item: unknown) => fieldOf(item, shape.path ?? 'path') === path);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
