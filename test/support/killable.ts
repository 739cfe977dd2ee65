import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';

/** A change of several files in the tree that `prepareTree` makes. */
interface Scene {
  /** Changes that are made before `change`, in order. Their steps are not reported. */
  readonly before?: readonly ((session: GatedSession) => Promise<unknown>)[];
  readonly change: (session: GatedSession) => Promise<Outcome<object>>;
}

const batch = (session: GatedSession): Promise<Outcome<object>> =>
  session.apply([
    { kind: 'edit', path: 'a.txt', edits: [{ oldString: 'two', newString: 'TWO' }] },
    { kind: 'write', path: 'new/deep/c.txt', content: 'c\n' },
    { kind: 'delete', path: 'b.txt' },
    { kind: 'move', source: 'm.txt', destination: 'moved/m.txt' },
    { kind: 'write', path: 'run.sh', content: '#!/bin/sh\nexit 1\n' },
  ]);

const removal = async (session: GatedSession): Promise<Outcome<object>> => {
  await session.list('d', { depth: 9 });
  return session.delete('d', { recursive: true });
};

/**
 * Makes a folder with so many files that an undo keeps the removed folder as a whole. Smaller
 * folders are stored file by file.
 */
const largeFolder = (session: GatedSession): Promise<Outcome<object>> =>
  session.apply(
    Array.from({ length: 110 }, (_, file) => ({
      kind: 'write' as const,
      path: `big/in${file % 2}/f${file}`,
      content: `${file}\n`,
    })),
  );

const undo = (session: GatedSession): Promise<Outcome<object>> => session.undo({});
const undoAll = (session: GatedSession): Promise<Outcome<object>> => session.undo({ session: 'ann' });

export const SCENES: Readonly<Record<string, Scene>> = {
  'a batch': { change: batch },
  'a recursive delete': { change: removal },
  'a move of a folder': { change: (session) => session.move('d', 'e/f/d') },
  'a move onto another file': { change: (session) => session.move('m.txt', 'a.txt') },
  'an undo of a batch': { before: [batch], change: undo },
  'an undo of a recursive delete': { before: [removal], change: undo },
  'an undo of a large folder': { before: [largeFolder], change: undo },
  'an undo of a move onto another file': {
    before: [(session) => session.move('m.txt', 'a.txt')],
    change: undo,
  },
  'an undo over a folder that became a file': {
    before: [removal, (session) => session.write('d', 'a file\n')],
    change: undoAll,
  },
  'an undo over a file that became a folder': {
    before: [(session) => session.delete('m.txt'), (session) => session.write('m.txt/in/it.txt', 'it\n')],
    change: undoAll,
  },
};

/** States of the tree in the middle of a scene. The number of steps until then differs: a file that is only a moment old takes more. */
export const MOMENTS: Readonly<Record<string, (root: string) => boolean>> = {
  'the new file is there': (root) => existsSync(join(root, 'new/deep/c.txt')),
  'the folder is gone': (root) =>
    !readdirSync(root).some((name) => name === 'd' || name.startsWith('.lookfirst-')),
};

export function prepareTree(root: string): void {
  const files = { 'a.txt': 'one\ntwo\n', 'b.txt': 'b\n', 'm.txt': 'm\n', 'run.sh': '#!/bin/sh\n' };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  chmodSync(join(root, 'run.sh'), 0o755);
  mkdirSync(join(root, 'd/inner'), { recursive: true, mode: 0o750 });
  writeFileSync(join(root, 'd/f.txt'), 'f\n', { mode: 0o600 });
  writeFileSync(join(root, 'd/inner/g.txt'), 'g\n');
  symlinkSync('../a.txt', join(root, 'd/link'));
}

/**
 * Plays a scene. Calls `onStep` before every disk step of its `change`, and before and after every
 * write of records to the store. Old contents are stored with these records.
 */
export async function play(
  { root, home }: { readonly root: string; readonly home: string },
  name: string,
  onStep: () => void,
): Promise<Outcome<object>> {
  const scene = SCENES[name];
  if (scene === undefined) throw new Error(`there is no scene ${name}`);
  const sessions = await Sessions.open({ roots: [root], home });
  const session = await sessions.session('ann');
  for (const file of ['a.txt', 'b.txt', 'm.txt', 'run.sh']) await session.read(file);
  for (const change of scene.before ?? []) await change(session);
  const { disk, store } = sessions.world;
  const record = store.record.bind(store);
  Object.assign(disk, { trace: onStep });
  Object.assign(store, {
    record: async (...writes: Parameters<typeof record>) => {
      onStep();
      await record(...writes);
      onStep();
    },
  });
  const outcome = await scene.change(session);
  Object.assign(disk, { trace: undefined });
  Object.assign(store, { record });
  await sessions.close();
  return outcome;
}
