import type { Effect, NewEntry, PendingChange } from '../../model/entry.ts';
import type { ForeignIntent } from '../../model/intent.ts';
import type { AnnounceOptions } from '../../model/session.ts';
import type { Action } from '../../model/verdict.ts';
import { clip } from '../../report/bounded.ts';
import { newChangeId } from '../announce.ts';
import { bypassEntries } from '../bypass-entries.ts';
import type { BytesBefore } from './command.ts';
import type { AllowedChanges } from './judge-all.ts';
import type { Scene } from './shown.ts';

const MAX_COMMAND_CHARS = 1000;

/** Changes that may be made and are about to be announced. */
export interface Opening {
  readonly intents: readonly ForeignIntent[];
  readonly judged: AllowedChanges;
  readonly options: AnnounceOptions;
  readonly locked: readonly string[];
}

/** The announcement of changes that another program makes. */
export function pendingOf(
  { world, ledger }: Scene,
  { intents, judged, options, locked }: Opening,
): PendingChange {
  const { effects, writes, bypassed, notices } = judged;
  const { hold = 'lock', call, tell = 'now' } = options;
  const change = newChangeId();
  const [first] = effects;
  const [intent] = intents;
  const entry: NewEntry = {
    kind: 'change',
    atMs: world.now(),
    ...ledger.author,
    root: world.workspace.roots[0] ?? '',
    ...(intent === undefined ? {} : { action: actionOf(intent, first) }),
    ...(first === undefined ? {} : { path: first.relative }),
    change,
    effects,
  };
  return {
    change,
    entry,
    owner: world.owner,
    ...(hold === 'lock' ? { locked } : {}),
    foreign: {
      hold,
      ...(call === undefined ? {} : { call }),
      writes: writes.map(({ key, text }) => ({ key, text })),
      ...(tell === 'settled' ? { untold: notices } : {}),
      bypasses: bypassEntries(bypassed, { ...ledger.author, atMs: entry.atMs, change }),
    },
  };
}

function actionOf(intent: ForeignIntent, first: Effect | undefined): Action {
  const creates = first?.before.kind === 'absent';
  if (intent.kind === 'touch') return creates ? 'create' : 'edit';
  if (intent.kind === 'write') return creates ? 'create' : 'overwrite';
  return intent.kind;
}

/** The announcement of a shell command that runs without a layer. */
export function pendingCommand(
  { world, ledger }: Scene,
  {
    change,
    text,
    call,
    kept,
  }: {
    readonly change: string;
    readonly text: string;
    readonly call: string | undefined;
    readonly kept: BytesBefore;
  },
): PendingChange {
  const { effects, writes, command } = kept;
  const entry: NewEntry = {
    kind: 'change',
    atMs: world.now(),
    ...ledger.author,
    root: world.workspace.roots[0] ?? '',
    action: 'run',
    path: '.',
    text: clip(text, MAX_COMMAND_CHARS),
    change,
    effects,
  };
  const named = call === undefined ? {} : { call };
  const foreign = { hold: 'none', ...named, writes, bypasses: [], command } as const;
  return { change, entry, owner: world.owner, foreign };
}
