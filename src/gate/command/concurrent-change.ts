import { fingerprintOf } from '../../disk/read.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { Refusal } from '../../model/verdict.ts';
import { merge3 } from '../../text/merge.ts';
import type { World } from '../world.ts';
import { bytesAfter, bytesBefore, plainText } from './file-bytes.ts';
import { knownBytes, lostDiff } from './lost-update.ts';
import type { Written } from './write-set.ts';

/**
 * Merges a file that both the command and another program changed, or refuses with the diff. The bytes both started
 * from are gone, so any earlier bytes known to the session or the journal serve as the base: text missing from the base
 * is then in both sides alike.
 */
export async function concurrentChange(
  world: World,
  ledger: Ledger,
  written: Written,
): Promise<Written | Refusal> {
  const live = plainText(await bytesBefore(world, written));
  const result = plainText(bytesAfter(written));
  const base = live === undefined || result === undefined ? undefined : await baseOf(world, ledger, written);
  if (live !== undefined && result !== undefined && base !== undefined) {
    const merged = merge3(base, result, live);
    if (merged.clean) return withText(written, merged.text);
  }
  const from = base ?? result;
  const diff =
    from === undefined || live === undefined ? undefined : lostDiff(world, written.path.key, [from, live]);
  return {
    code: 'COMMAND_CONFLICT',
    action: 'commit',
    path: written.path.relative,
    next: 'read_again',
    detail: { reason: reasonOf(written), ...(diff === undefined ? {} : { diff }) },
  };
}

async function baseOf(world: World, ledger: Ledger, { path }: Written): Promise<string | undefined> {
  const known = await knownBytes(world, ledger, path.key);
  const last = await world.store.lastChange(path.key);
  const left = last?.effects?.find((effect) => effect.key === path.key)?.after;
  const candidates: (Fingerprint | undefined)[] = [
    known?.fingerprint,
    left?.kind === 'file' ? left.fingerprint : undefined,
  ];
  for (const fingerprint of candidates) {
    const text = fingerprint && plainText(await world.baselines.recall(fingerprint));
    if (text !== undefined) return text;
  }
  return undefined;
}

function withText(written: Written, text: string): Written {
  const bytes = Buffer.from(text, 'utf8');
  if (written.after.kind !== 'file') return written;
  return {
    ...written,
    after: { ...written.after, fingerprint: fingerprintOf(bytes) },
    bytes: () => bytes,
    file: undefined,
  };
}

function reasonOf({ before, after }: Written): string {
  if (before.kind === 'absent') return 'another program removed it while the command ran';
  if (after.kind === 'absent')
    return 'another program changed it while the command ran, and the command removed it';
  return 'another program changed it while the command ran';
}
