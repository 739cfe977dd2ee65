import { setTimeout } from 'node:timers/promises';
import { byPath, type Delta, sameContent, sameState } from '../../model/delta.ts';
import type { PendingChange } from '../../model/entry.ts';
import { readableAt } from '../found.ts';
import { HOST_POLL_MS, HOST_WRITES_MS, isHostWriting } from '../host-writes.ts';
import type { World } from '../world.ts';
import type { EndState } from './known-after.ts';

/** An announced write of a file that a command seems to have changed. */
interface AnnouncedWrite {
  readonly pending: PendingChange;
  readonly delta: Delta;
}

type WritesByKey = ReadonlyMap<string, readonly AnnouncedWrite[]>;

/**
 * The result of a command, without writes that other calls have announced and made, and whose end is
 * not recorded yet. Each of them is recorded for the session that announced it. If it is not clear
 * who wrote a file, waits up to two seconds for the end of the write.
 */
export async function withoutOtherWrites(
  world: World,
  command: PendingChange,
  endStates: readonly EndState[],
): Promise<readonly EndState[]> {
  const giveUpMs = world.now() + HOST_WRITES_MS;
  for (let found = endStates; ; ) {
    const writes = await writesAt(world, command, found);
    const unclear = found.filter((endState) => isUnclear(world, command, { endState, writes }));
    if (unclear.length === 0 || world.now() >= giveUpMs)
      return found.flatMap((endState) => beforeWrites(endState, writes));
    await setTimeout(HOST_POLL_MS);
    found = await readAgain(world, found, unclear);
  }
}

/** The announced writes of all files that the command seems to have changed. */
async function writesAt(
  { store }: World,
  command: PendingChange,
  endStates: readonly EndState[],
): Promise<WritesByKey> {
  const writes = new Map<string, AnnouncedWrite[]>();
  for (const { delta, now } of endStates) if (!sameState(delta.before, now.side)) writes.set(delta.key, []);
  if (writes.size === 0) return writes;
  for (const pending of await store.pending({ here: true })) {
    if (pending.change === command.change || pending.host?.command !== undefined) continue;
    for (const delta of byPath(pending.entry.deltas)) writes.get(delta.key)?.push({ pending, delta });
  }
  return writes;
}

/**
 * True if another session's host is about to write the file or has just written it, and the bytes
 * do not show which. False for files that the command's record names: their locks are held, so the
 * end of the write cannot be recorded now.
 */
function isUnclear(
  world: World,
  { entry }: PendingChange,
  { endState, writes }: { readonly endState: EndState; readonly writes: WritesByKey },
): boolean {
  const { delta, now } = endState;
  const others = writes.get(delta.key) ?? [];
  if (others.length === 0 || byPath(entry.deltas).some(({ key }) => key === delta.key)) return false;
  if (others.some((write) => sameContent(write.delta.before, now.side) || isMade(write, endState)))
    return false;
  return others.some(({ pending }) => isHostWriting(world, pending, entry.session));
}

/** True if the file has the bytes that the write was announced to leave. */
function isMade({ delta: { before, after } }: AnnouncedWrite, { now }: EndState): boolean {
  return !sameContent(before, after) && sameContent(after, now.side);
}

/** The command's result for one file: the state before another call's write, if that write was made. */
function beforeWrites(endState: EndState, writes: WritesByKey): readonly EndState[] {
  const made = writes.get(endState.delta.key)?.find((write) => isMade(write, endState));
  if (made === undefined) return [endState];
  const { before } = made.delta;
  return sameContent(endState.delta.before, before) ? [] : [{ ...endState, now: { side: before } }];
}

async function readAgain(
  world: World,
  endStates: readonly EndState[],
  unclear: readonly EndState[],
): Promise<readonly EndState[]> {
  const read: EndState[] = [];
  for (const endState of endStates) {
    const now = unclear.includes(endState) ? await readableAt(world, endState.delta.key) : endState.now;
    if (now !== undefined) read.push({ ...endState, now });
  }
  return read;
}
