// One of several processes that create the same names at the same time. Sends which names it created, and how many
// files of other processes it found half written.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDisk } from '../../src/disk/context.ts';
import { create } from '../../src/disk/replace.ts';
import { Workspace } from '../../src/workspace/workspace.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly owner: string;
  readonly names: number;
  readonly code: 'ours' | 'naive';
}

const SIZE = 1 << 18;
const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const bytes = Buffer.alloc(SIZE, settings.owner);
const workspace = Workspace.open([settings.root]);
const context = openDisk({ home: settings.home, owner: settings.owner, durability: 'none' });

async function createOurs(name: string): Promise<boolean> {
  const outcome = workspace.locate(name, 'create');
  if (!outcome.ok) throw new Error(outcome.refusal.code);
  const { place } = outcome.located;
  try {
    return (await create(context, place, { bytes })).ok;
  } finally {
    place.dir.close();
  }
}

function createNaively(name: string): boolean {
  const path = join(settings.root, name);
  if (existsSync(path)) return false;
  writeFileSync(path, bytes);
  return true;
}

function isHalf(name: string): boolean {
  const found = readFileSync(join(settings.root, name));
  return !found.equals(Buffer.alloc(SIZE, found[0]));
}

process.once('message', async () => {
  const won: number[] = [];
  let halves = 0;
  for (let file = 0; file < settings.names; file += 1) {
    const name = `f${file}`;
    if (settings.code === 'ours' ? await createOurs(name) : createNaively(name)) won.push(file);
    else if (isHalf(name)) halves += 1;
  }
  await context.close();
  process.send?.({ won, halves });
  process.disconnect();
});
process.send?.('ready');
