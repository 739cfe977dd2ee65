import { mcpAnswer } from '../dialect/calls/answer.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { resultLine } from './rpc.ts';
import type { Understanding } from './understand.ts';

/** One line for each file that was read: `[read PATH lines A-B of N revision R]`, as far as it is known. */
export async function receiptsFor(
  session: ForeignSession,
  understanding: Understanding,
  result: JsonRecord,
): Promise<string> {
  const lines: string[] = [];
  for (const shown of shownLines(understanding.touches, mcpAnswer(result['content']))) {
    const status = await session.status(understanding.place(shown.path));
    const file = status.ok ? status.files[0] : undefined;
    if (file === undefined || file.seen === 'nothing') continue;
    const total = file.totalLines;
    const [range] = shown.ranges ?? [{ from: Math.min(1, total ?? 1), to: total ?? 0 }];
    const which =
      range === undefined || total === undefined ? '' : ` lines ${linesOf(range, total)} of ${total}`;
    const revision = file.revision === undefined ? '' : ` revision ${file.revision}`;
    lines.push(`[read ${shown.path}${which}${revision}]`);
  }
  return lines.join('\n');
}

function linesOf(range: { readonly from: number; readonly to: number }, total: number): string {
  const from = range.from < 0 ? total + 1 + range.from : range.from;
  const to = range.to < 0 ? total + 1 + range.to : Math.min(range.to, total);
  return `${from}-${to}`;
}

/**
 * The result with its receipts after the text. Where the structured content is only the same text once more, it gets
 * them too, for some clients show nothing else; any other structured content has a schema of its own and stays as it is.
 */
export function withReceipts(id: string, result: JsonRecord, receipts: string): Buffer {
  const content = Array.isArray(result['content']) ? result['content'] : [];
  const [first] = content;
  const text = isRecord(first) && typeof first['text'] === 'string' ? first['text'] : undefined;
  const structured = result['structuredContent'];
  const doubled = isRecord(structured) && text !== undefined && structured['content'] === text;
  return resultLine(id, {
    ...result,
    content: [...content, { type: 'text', text: receipts }],
    ...(doubled ? { structuredContent: { ...structured, content: `${text}\n${receipts}` } } : {}),
  });
}
