// Changes files while a disk is full. The disk is a tiny one, mounted for this process only, and
// holds either the workspace or the state folder. Sends how each change ended and which files exist
// afterwards.
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { openDisk } from '../../src/disk/context.ts';
import { fingerprintOf } from '../../src/disk/read.ts';
import { remove } from '../../src/disk/remove.ts';
import { create, replace } from '../../src/disk/replace.ts';
import { Fault } from '../../src/model/fault.ts';
import type { Place } from '../../src/model/path.ts';
import { Workspace } from '../../src/workspace/workspace.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  /** The folder on the tiny disk. */
  readonly full: string;
  readonly commit: 'exchange' | 'claim';
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const { root, home } = settings;
const old = Buffer.alloc(20_000, 'o');

for (const folder of [root, home]) mkdirSync(folder, { recursive: true });
writeFileSync(join(root, 'f'), old);
const workspace = Workspace.open([root]);
const context = openDisk({ home, owner: 'full', durability: 'full', commit: settings.commit });
const expected = { fingerprint: fingerprintOf(old) };
fill();

const changes: Record<string, (place: Place) => unknown> = {
  f: (place) => replace(context, place, { bytes: Buffer.alloc(30_000, 'n'), expected }),
  new: (place) => create(context, place, { bytes: Buffer.alloc(30_000, 'n') }),
  'f ': (place) => remove(context, place, expected),
};
const ended: Record<string, string> = {};
for (const [name, change] of Object.entries(changes)) ended[name] = await attempt(name.trim(), change);
process.send?.({
  ended,
  names: readdirSync(root).filter((name) => name !== 'filler'),
  // Files that were copied only in part. A later read would take them for whole files, so there
  // must be none.
  halves: readdirSync(join(home, 'retained')).filter((name) => !isWhole(join(home, 'retained', name))),
  intact: ended['f '] === 'done' || readFileSync(join(root, 'f')).equals(old),
});
process.disconnect();

async function attempt(name: string, change: (place: Place) => unknown): Promise<string> {
  const outcome = workspace.locate(name, 'status');
  if (!outcome.ok) return outcome.refusal.code;
  try {
    const done = (await change(outcome.located.place)) as { readonly ok: boolean };
    return done.ok ? 'done' : 'conflict';
  } catch (error) {
    return error instanceof Fault ? `${error.reason}: ${error.message}` : String(error);
  }
}

function isWhole(file: string): boolean {
  const { size } = statSync(file);
  return size === 20_000 || size === 30_000;
}

function fill(): void {
  const filler = join(settings.full, 'filler');
  writeFileSync(filler, '');
  for (const size of [65_536, 4096, 512, 16, 1]) {
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(size));
    } catch {
      // Ignore the error: the disk has no room for a piece of this size, but a smaller piece may
      // fit.
    }
  }
  // Leave room for the log line that is written before the file is copied, so that only the copy
  // fails.
  if (settings.full === settings.home) {
    unlinkSync(filler);
    writeFileSync(filler, Buffer.alloc(88_000));
  }
}
