// Makes one change of many files with too few descriptors or too little space. Reports how it ended and which files are
// on the disk.
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FileIntent } from '../../src/model/intent.ts';
import { openSession } from '../../src/session/sessions.ts';
import { treeWithModes } from '../support/tree-replay.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly change: 'create' | 'edit' | 'delete' | 'undo';
  readonly count: number;
  /** Bytes left on the disk of the workspace. */
  readonly room?: number;
}

const { root, home, change, count, room } = JSON.parse(process.argv[2] ?? '') as Settings;
const names = Array.from({ length: count }, (_, index) => `d${index % 7}/${index % 5}/f${index}`);
const OLD = 'old\n'.repeat(2000);

for (const folder of [root, home]) mkdirSync(folder, { recursive: true });
if (change !== 'create')
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), OLD);
  }
const session = await openSession({ roots: [root], home, session: 'ann' });
if (change !== 'create') for (const name of names) await session.read(name);
const intents: readonly FileIntent[] = names.map((path) =>
  change === 'delete'
    ? { kind: 'delete', path }
    : { kind: 'write', path, content: `new ${path}\n`.repeat(800) },
);
if (change === 'undo') for (const intent of intents) await session.perform(intent);
const before = treeWithModes(root);
const filler = join(root, 'filler');
if (room !== undefined) {
  const { bavail, bsize } = statfsSync(root);
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - room)));
}
let ended: string;
try {
  const outcome = change === 'undo' ? await session.undo({ session: 'ann' }) : await session.apply(intents);
  ended = outcome.ok ? 'done' : outcome.refusal.code;
} catch (error) {
  ended = `fault ${String(error)}`;
}
rmSync(filler, { force: true });
const after = treeWithModes(root);
const changed = after.filter((line) => !before.includes(line)).length;
await session.close().catch(() => undefined);
process.send?.({ ended, changed, missing: before.filter((line) => !after.includes(line)).length });
process.disconnect();
