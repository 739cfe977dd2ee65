import { fingerprintOf } from '../../src/disk/read.ts';
import { deriveSightings } from '../../src/history/derive.ts';
import { joinSightings } from '../../src/history/verify.ts';
import { rangesOf } from '../../src/model/coverage.ts';
import type { Transcript } from '../../src/model/transcript.ts';
import { lineCount, splitLines } from '../../src/text/lines.ts';
import { KnownLines, named } from './known-lines.ts';

/**
 * A step of a conversation. `read`: the model reads a page (lines counted from 0). `edit`: the
 * model replaces a part of the file; with `strips`, Claude Code also removes the newline after the
 * removed text. `outside`: another program replaces a part.
 */
export type Act =
  | { readonly kind: 'read'; readonly from: number; readonly count: number }
  | (Part & { readonly kind: 'edit'; readonly all: boolean; readonly strips: boolean })
  | (Part & { readonly kind: 'outside' });

/** The start of the part (modulo the file's length), its length, and the new text. */
interface Part {
  readonly at: number;
  readonly length: number;
  readonly to: string;
}

const PATH = '/repo/a.ts';

/** Records of Claude Code about one file, and what the model knows of the file at the end. */
export function conversation(start: string, acts: readonly Act[]): { records: object[]; known: KnownLines } {
  const records: object[] = [];
  const known = new KnownLines(start);
  const put = (fields: object, after: object = {}): void => {
    const parentUuid = records.length === 0 ? null : uuidOf(records.length);
    const uuid = uuidOf(records.length + 1);
    const timestamp = '2026-01-02T03:04:05.678Z';
    records.push({ parentUuid, isSidechain: false, ...fields, uuid, timestamp, ...after, cwd: '/repo' });
  };
  for (const [count, act] of acts.entries()) {
    const id = `toolu_${count}`;
    const made = madeBy(act, known);
    if (made === undefined) continue;
    const block = { type: 'tool_use', id, name: made.name, input: { file_path: PATH, ...made.input } };
    put({ message: { role: 'assistant', content: [block], stop_reason: 'tool_use' }, type: 'assistant' });
    const result = { tool_use_id: id, type: 'tool_result', content: made.content };
    put({ type: 'user', message: { role: 'user', content: [result] } }, { toolUseResult: made.detail });
  }
  return { records, known };
}

/**
 * The lines of the file's present text (`now`) that the transcript proves as seen, each as `NUMBER
 * TEXT`.
 */
export function confirmedLines(transcript: Transcript, now: string): readonly string[] {
  const { sightings } = deriveSightings(transcript, 'claude-code');
  const bytes = Buffer.from(now);
  const totalLines = lineCount(now);
  const joined = joinSightings(sightings, { fingerprint: fingerprintOf(bytes), totalLines, bytes });
  if (joined === undefined || joined.flags.unverified) return [];
  const all = splitLines(now).map(named);
  return rangesOf(joined.coverage, totalLines).flatMap(({ from, to }) => all.slice(from - 1, to));
}

interface Made {
  readonly name: string;
  readonly input: object;
  readonly content: string;
  readonly detail: object;
}

function madeBy(act: Act, known: KnownLines): Made | undefined {
  if (act.kind === 'read') return page(known, act);
  const now = known.text;
  const at = act.at % Math.max(1, now.length);
  const old = now.slice(at, at + act.length);
  if (act.kind === 'edit') return edited(known, old, act);
  const text = now.slice(0, at) + act.to + now.slice(at + act.length);
  if (text.isWellFormed()) known.become(text);
  return undefined;
}

function page(known: KnownLines, { from, count }: { from: number; count: number }): Made | undefined {
  // Claude Code also counts the empty line after a final newline.
  const lines = known.text.split('\n');
  const shown = lines.slice(from, from + count);
  if (shown.length === 0) return undefined;
  known.show(from, count);
  const numbers = { numLines: shown.length, startLine: from + 1, totalLines: lines.length };
  const file = { filePath: PATH, content: shown.join('\n'), ...numbers };
  const content = shown.map((one, index) => `${from + 1 + index}\t${one}`).join('\n');
  return { name: 'Read', input: { offset: from + 1, limit: count }, content, detail: { type: 'text', file } };
}

function edited(known: KnownLines, old: string, edit: Act & { kind: 'edit' }): Made | undefined {
  if (old === '' || !old.isWellFormed()) return undefined;
  const { to, all } = edit;
  const now = known.text;
  const isStripped = edit.strips && to === '' && isWithin(old, now);
  const taken = isStripped ? `${old}\n` : old;
  const places = [now.indexOf(taken)];
  for (let next = places[0] ?? -1; all && next !== -1; ) {
    next = now.indexOf(taken, next + taken.length);
    if (next !== -1) places.push(next);
  }
  known.replace({ places, length: taken.length, put: to });
  const strings = { filePath: PATH, oldString: old, newString: to, originalFile: now };
  const structuredPatch = [{ oldLines: lineCount(now), newLines: lineCount(known.text) }];
  const detail = { ...strings, structuredPatch, userModified: false, replaceAll: all };
  const input = { old_string: old, new_string: to, ...(all ? { replace_all: true } : {}) };
  return { name: 'Edit', input, content: 'Done.', detail };
}

/**
 * True if `text` occurs once in the file, before a newline that is not the file's last. After an
 * edit that removes `text`, the number of lines shows whether that newline was removed too.
 */
function isWithin(text: string, all: string): boolean {
  const isOnce = all.indexOf(text) === all.lastIndexOf(text);
  return isOnce && !text.endsWith('\n') && all.includes(`${text}\n`) && !all.endsWith(`${text}\n`);
}

function uuidOf(count: number): string {
  return `${count.toString(16).padStart(8, '0')}-0000-4000-8000-${'0'.repeat(12)}`;
}
