// Changes files while the disk of the state folder is full. That disk is small and mounted for this
// process only. Reports how each change ended, and whether the files agreed with the answer.
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../src/model/fault.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { openSession, Sessions } from '../../src/session/sessions.ts';
import { treeWithModes } from '../support/tree-replay.ts';

interface Settings {
  readonly root: string;
  /** The mount point of the small disk, which contains the state folder. */
  readonly disk: string;
  /** Numbers of free bytes on the disk. Each change is tried once with each of them. */
  readonly room: readonly number[];
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const { root, disk } = settings;
const home = join(disk, 'home');
const filler = join(disk, 'filler');
const OLD = 'old\n'.repeat(300);
const NEW = 'new\n'.repeat(400);

type Change = (session: GatedSession) => Promise<Outcome<object>>;
const CHANGES: Readonly<Record<string, Change>> = {
  overwrite: (session) => session.write('f', NEW),
  create: (session) => session.write('new/deep/g', NEW),
  delete: (session) => session.delete('f'),
  move: (session) => session.move('f', 'g'),
  batch: (session) =>
    session.apply([
      { kind: 'write', path: 'f', content: NEW },
      { kind: 'write', path: 'h', content: NEW },
    ]),
  undo: (session) => session.undo({}),
  'delete a folder': async (session) => {
    await session.list('d');
    return session.delete('d', { recursive: true });
  },
};

const told: object[] = [];
for (const name of Object.keys(CHANGES))
  for (const room of settings.room) told.push(await attempt(name, room));
process.send?.(told);
process.disconnect();

async function attempt(name: string, room: number): Promise<object> {
  for (const folder of [root, home]) rmSync(folder, { recursive: true, force: true });
  for (const folder of [root, home]) mkdirSync(folder);
  writeFileSync(join(root, 'f'), OLD.slice(1), { mode: 0o600 });
  mkdirSync(join(root, 'd'));
  for (const name of ['x', 'y', 'z']) writeFileSync(join(root, 'd', name), `${name}${OLD}`);
  const session = await open();
  await session.read('f');
  await session.write('f', OLD);
  const before = treeWithModes(root);
  fill(room);
  const ended = await endOf(() => CHANGES[name]?.(session));
  rmSync(filler);
  const after = treeWithModes(root);
  await session.close().catch(() => undefined);
  const isAsBefore = JSON.stringify(before) === JSON.stringify(after);
  return { name, room, ended, isAsBefore, ...(await afterwards(before)) };
}

function open(): Promise<GatedSession> {
  return openSession({ roots: [root], home, session: 'agent' });
}

async function endOf(change: () => Promise<Outcome<object>> | undefined): Promise<string> {
  try {
    const outcome = await change();
    if (outcome === undefined) return 'nothing';
    return outcome.ok ? 'done' : outcome.refusal.code;
  } catch (error) {
    return error instanceof Fault ? error.code : String(error);
  }
}

/**
 * Moves each file in a new session and undoes the move, so that the gate records the outcome of
 * unfinished changes. Counts the changes that are still unfinished. Then undoes the change that was
 * made on the full disk, if the journal has it. Reports the count, whether the journal has the
 * change, and whether all files are as in `before`.
 */
async function afterwards(before: readonly string[]): Promise<object> {
  const sessions = await Sessions.open({ roots: [root], home });
  const { store } = sessions.world;
  const session = await sessions.session('later');
  for (const name of ['f', 'g', 'h', 'd', 'new']) {
    await session.move(name, `${name}.aside`);
    await session.undo({});
  }
  const pending = (await store.pending()).length;
  const [, change] = await store.entries({ kinds: ['change'], session: 'agent', order: 'oldest' });
  if (change?.change !== undefined) await (await sessions.session('agent')).undo({ change: change.change });
  const isBack = JSON.stringify(before) === JSON.stringify(treeWithModes(root));
  await sessions.close();
  return { pending, journalled: change !== undefined, isBack };
}

function fill(room: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - room)));
}
