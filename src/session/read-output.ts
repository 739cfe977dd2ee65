import type { World } from '../gate/world.ts';
import type { ReadResult } from '../model/results.ts';
import type { ReadOptions } from '../model/session.ts';
import { type Outcome, refused } from '../model/verdict.ts';
import { splitLines } from '../text/lines.ts';
import { outputMask } from './masked-text.ts';
import { outputId } from './path-names.ts';

/** Shows a page of a command's output. The output is not a workspace file, so nothing is recorded as seen. */
export async function readOutput(
  world: World,
  session: string,
  { path, options }: { readonly path: string; readonly options: ReadOptions },
): Promise<Outcome<ReadResult>> {
  const bytes = world.processes.output(outputId(path), session);
  if (bytes === undefined) {
    const detail = { reason: 'no output of this session is kept under that name' };
    return refused({ code: 'NOT_FOUND', action: 'read', path, next: 'none', detail });
  }
  const show = await outputMask(world);
  const lines = splitLines(show(bytes.toString('utf8')));
  const { maxReadLines, maxLineChars } = world.policy;
  const limit = Math.min(options.limit ?? options.last ?? maxReadLines, maxReadLines);
  const from = options.last === undefined ? (options.offset ?? 1) : Math.max(1, lines.length - limit + 1);
  if (from < 1 || (from > lines.length && lines.length > 0)) {
    const reason = `offset ${from} is past the end (${lines.length} lines)`;
    return refused({
      code: 'INVALID_ARGUMENT',
      action: 'read',
      path,
      next: 'fix_argument',
      detail: { reason },
    });
  }
  const shown = lines.slice(from - 1, from - 1 + limit);
  const clamped = shown.flatMap((line, index) => (line.length > maxLineChars ? [from + index] : []));
  return {
    ok: true,
    path,
    text: shown.map((line) => line.replace(/\r?\n$/, '').slice(0, maxLineChars)).join('\n'),
    from: shown.length === 0 ? 0 : from,
    to: shown.length === 0 ? 0 : from + shown.length - 1,
    totalLines: lines.length,
    sizeBytes: bytes.byteLength,
    complete: false,
    encoding: 'utf-8',
    clamped,
  };
}
