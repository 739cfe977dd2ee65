import type { Notice } from '../../model/results.ts';
import { endingUsed } from '../../text/lines.ts';
import type { World } from '../world.ts';
import type { EndState } from './known-after.ts';

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Notices about files whose line endings another program changed or whose byte order mark it dropped. */
export async function reshapedFiles(
  world: World,
  endStates: readonly EndState[],
): Promise<readonly Notice[]> {
  const notices: Notice[] = [];
  for (const { delta, now } of endStates) {
    if (delta.before.kind !== 'file' || now.snapshot === undefined) continue;
    const { fingerprint } = delta.before;
    if (!(await world.images.has(fingerprint.sha256))) continue;
    const before = Buffer.from(world.baselines.peek(fingerprint) ?? (await world.images.read(fingerprint)));
    const what = reshaping(before, now.snapshot.bytes);
    if (what !== undefined) notices.push({ kind: 'form-changed', path: delta.relative, what });
  }
  return notices;
}

function reshaping(before: Buffer, after: Buffer): string | undefined {
  if (before.subarray(0, 3).equals(BOM) && !after.subarray(0, 3).equals(BOM))
    return 'the byte order mark is gone';
  const [was, is] = [before, after].map((bytes) => endingUsed(bytes.toString('latin1')));
  if (was === undefined || is === undefined || was === 'mixed' || was === is) return undefined;
  const names = { '\n': 'LF', '\r\n': 'CRLF', '\r': 'CR', mixed: 'mixed' } as Record<string, string>;
  return `line endings were ${names[was]} and are ${names[is]} now`;
}
