import { fingerprintOf } from '../../disk/read.ts';
import type { ClientCall } from '../../model/call.ts';
import { byPath, type Delta, sameContent } from '../../model/delta.ts';
import type { HostWrite, NewChangeEntry, PendingChange } from '../../model/entry.ts';
import type { FileIntent, HostIntent } from '../../model/intent.ts';
import { LIMITS } from '../../model/limits.ts';
import { defined } from '../../model/record.ts';
import type { AnnounceOptions } from '../../model/session.ts';
import type { Action, Refusal } from '../../model/verdict.ts';
import { bypassEntries, newChangeId } from '../announce.ts';
import { fileState, readableAt } from '../found.ts';
import { hashOf } from '../prepare.ts';
import type { ShownScene } from '../shown.ts';
import { actionOf as intendedAction } from '../validate.ts';
import { entryHead, type World } from '../world.ts';
import { deltaAt } from './command.ts';
import type { AllowedChanges } from './judge-all.ts';

/** Another program's changes that are allowed and about to be stored as pending. */
export interface AllowedAnnouncement {
  readonly intents: readonly HostIntent[];
  readonly judged: AllowedChanges;
  readonly options: AnnounceOptions & { readonly times?: ClientCall | undefined };
  readonly locked: readonly string[];
}

/** The record to store before another program makes allowed changes. */
export function pendingOf(
  scene: ShownScene,
  { intents, judged, options, locked }: AllowedAnnouncement,
): PendingChange {
  const { world, knowledge } = scene;
  const { deltas, writes, bypassed, notices } = judged;
  const { hold = 'lock', call, tell = 'now' } = options;
  const change = newChangeId();
  // The deltas are current at this time, because the caller holds the locks of the files.
  const atMs = world.now();
  const bypasses = bypassEntries(bypassed, { ...knowledge.author, atMs, change });
  const coming = { change, deltas, call, atMs, ...firstOf(intents, deltas) };
  const pending = pendingChange(scene, coming, {
    hold,
    ...(call === undefined ? {} : { intents: hashOf(intents) }),
    writes: writes.map(({ key, text, known }) => ({ key, text, ...defined({ known }) })),
    ...(tell === 'settled' ? { untold: notices } : {}),
    bypasses,
  });
  return hold === 'lock' ? { ...pending, locked } : pending;
}

/** The action and the path that the journal entry of some changes names. */
function firstOf(
  [intent]: readonly HostIntent[],
  [first]: readonly Delta[],
): Pick<NewChangeEntry, 'action' | 'path'> {
  return {
    ...(intent === undefined ? {} : { action: actionOf(intent, first) }),
    ...(first === undefined ? {} : { path: first.relative }),
  };
}

/**
 * Compares a pending change with the intents of a later hook event that has the same call id. True
 * if they are equal: the client sent the event twice, for example because two of its settings files
 * name the hook. False if two calls have the same id.
 */
export function isRepeated({ host }: PendingChange, intents: readonly HostIntent[]): boolean {
  return host?.intents === undefined || host.intents === hashOf(intents);
}

/**
 * True if each file of a pending change has its content from before the change or the expected one.
 * Also true while a process holds the locks of the files, because no other session can change them.
 */
export async function isAsAnnounced(world: World, { entry, host }: PendingChange): Promise<boolean> {
  if (host?.hold === 'lock') return true;
  for (const { key, before, after } of byPath(entry.deltas)) {
    const now = await readableAt(world, key);
    if (now === undefined || ![before, after].some((side) => sameContent(side, now.side))) return false;
  }
  return true;
}

function actionOf(intent: HostIntent, first: Delta | undefined): Action {
  const creates = first?.before.kind === 'absent';
  if (intent.kind === 'touch') return creates ? 'create' : 'edit';
  if (intent.kind === 'write') return creates ? 'create' : 'overwrite';
  return intent.kind;
}

/** The entry of a change that another program is about to make. */
type ComingChange = Pick<NewChangeEntry, 'change' | 'deltas' | 'action' | 'path' | 'text'> & {
  readonly call: string | undefined;
  /**
   * A time before the deltas were read. The deltas may lack changes that other sessions made
   * after this time.
   */
  readonly atMs: number;
};

/** The record to store before another program makes a change. Without `host`, no lock is held and no text is known. */
export function pendingChange(
  { world, knowledge }: ShownScene,
  { call, ...coming }: ComingChange,
  host: Partial<NonNullable<PendingChange['host']>> = {},
): PendingChange {
  const named = defined({ call });
  return {
    change: coming.change,
    entry: { kind: 'change', ...entryHead(world, knowledge), ...named, ...coming },
    owner: world.owner,
    host: { hold: 'none', ...named, writes: [], bypasses: [], ...host },
  };
}

/**
 * The record to store before changes that `mode: observe` lets pass although they would be refused.
 * They can be undone like all other changes.
 */
export async function pendingObserved(
  scene: ShownScene,
  { intents, call }: { readonly intents: readonly HostIntent[]; readonly call: string | undefined },
): Promise<PendingChange | undefined> {
  const { world } = scene;
  const atMs = world.now();
  const found = (await Promise.all(intents.map((intent) => observedDeltas(world, intent)))).flat();
  const deltas = found.map(({ delta }) => delta);
  const writes = found.map(({ delta, text }) => ({ key: delta.key, text }));
  if (deltas.length === 0) return undefined;
  const coming = { change: newChangeId(), deltas, call, atMs, ...firstOf(intents, deltas) };
  return pendingChange(scene, coming, { writes });
}

interface ObservedWrite extends Pick<HostWrite, 'text'> {
  readonly delta: Delta;
}

async function observedDeltas(world: World, intent: HostIntent): Promise<readonly ObservedWrite[]> {
  const paths = intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
  const found = await Promise.all(paths.map((path) => deltaAt(world, path)));
  return found.flatMap((delta): readonly ObservedWrite[] => {
    if (delta === undefined) return [];
    if (intent.kind !== 'write') return [{ delta, text: 'unknown' }];
    return [{ delta: { ...delta, after: sideOfText(intent.content) }, text: 'whole' }];
  });
}

function sideOfText(content: string | Uint8Array): Delta['after'] {
  return fileState(fingerprintOf(Buffer.from(content)), 0o644, 'none');
}

/** The intent as one whose files can be locked: a touch changes its file like an edit. */
export function lockableIntent(intent: HostIntent): FileIntent {
  return intent.kind === 'touch' ? { kind: 'edit', path: intent.path, edits: [] } : intent;
}

/** The refusal if the files of these changes cannot be locked. */
export function busyRefusal([first]: readonly HostIntent[]): Refusal {
  const path = first === undefined ? '' : first.kind === 'move' ? first.destination : first.path;
  return { code: 'BUSY', action: intendedAction(first?.kind), path, next: 'retry_later' };
}

/**
 * Records where an announced command runs: on a layer (a private copy-on-write view of the
 * workspace), or directly in the workspace. Returns false if nothing was recorded: the command is
 * not pending, its record already says `to`, or its lock is not free.
 */
export async function moveCommand(world: World, change: string, to: 'layer' | 'workspace'): Promise<boolean> {
  const release = await world.locks.acquire([`${world.home}/layers/${change}`], LIMITS.lockTimeoutMs);
  if (release === undefined) return false;
  try {
    const [pending] = await world.store.pending({ change });
    if (pending?.host?.command === undefined) return false;
    const { onLayer, ...command } = pending.host.command;
    if ((onLayer === true) === (to === 'layer')) return false;
    const moved = to === 'layer' ? { ...command, onLayer: true as const } : command;
    const host = { ...pending.host, command: moved };
    await world.store.record({ ifPending: change, announce: { ...pending, host } });
    return true;
  } finally {
    release();
  }
}
