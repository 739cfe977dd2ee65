import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { rgPath } from '@vscode/ripgrep';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { strongestGuarantee } from '../workspace/pinned.ts';
import { Workspace } from '../workspace/workspace.ts';
import { findFiles } from './find.ts';
import { searchText } from './search.ts';

const run = promisify(execFile);
const FOLDERS = 20;
/** Number of rounds; `npm run attack` runs all 40. */
const ROUNDS = process.env['LOOKFIRST_ATTACK'] === 'long' ? 40 : 8;
const MAX_CONTROL_ROUNDS = 2000;

/** Swaps folders for links to outside and back, as fast as possible, until terminated. */
const SWAPPER = `
const { renameSync } = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
parentPort.postMessage('ready');
for (;;) for (const folder of workerData) {
  try {
    renameSync(folder, folder + '.held');
    renameSync(folder + '.link', folder);
    renameSync(folder, folder + '.link');
    renameSync(folder + '.held', folder);
  } catch {}
}`;

/** A workspace whose folders keep turning into links to outside folders with other files. */
async function attacked(): Promise<{ root: string; workspace: Workspace }> {
  const { root, outside } = scratch();
  const folders = Array.from({ length: FOLDERS }, (_, index) => join(root, `d${index}`));
  for (const [index, folder] of folders.entries()) {
    mkdirSync(folder);
    mkdirSync(join(outside, `d${index}`));
    writeFileSync(join(folder, 'f.txt'), 'needle inside\n');
    writeFileSync(join(outside, `d${index}`, 'f.txt'), 'needle beyond\n');
    writeFileSync(join(outside, `d${index}`, 'beyond.txt'), 'needle beyond\n');
    symlinkSync(join(outside, `d${index}`), `${folder}.link`);
  }
  const workspace = Workspace.open([root]);
  const swapper = new Worker(SWAPPER, { eval: true, workerData: folders });
  onTestFinished(async () => {
    await swapper.terminate();
    workspace.close();
  });
  await new Promise((resolve) => swapper.once('message', resolve));
  return { root, workspace };
}

/**
 * Runs ripgrep alone until it shows text of an outside file. Returns the number of runs that this
 * took; 0 if it did not happen in `MAX_CONTROL_ROUNDS` runs.
 */
async function leaksOfRipgrep(root: string, args: readonly string[]): Promise<number> {
  for (let round = 1; round <= MAX_CONTROL_ROUNDS; round += 1) {
    const { stdout } = await run(rgPath, [...args, './'], { cwd: root }).catch((error) => error);
    if (String(stdout).includes('beyond')) return round;
  }
  return 0;
}

describe.skipIf(process.platform !== 'linux')('a folder that is swapped for a link during a search', () => {
  it.skipIf(strongestGuarantee() !== 'walk')('shows no outside text in `search`', async () => {
    const { root, workspace } = await attacked();
    expect(await leaksOfRipgrep(root, ['--no-ignore', 'needle'])).toBeGreaterThan(0);
    let shown = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const outcome = await searchText({ workspace }, 'needle');
      if (!outcome.ok) continue;
      shown += outcome.hits.length;
      expect(outcome.hits.filter(({ path, text }) => `${path} ${text}`.includes('beyond'))).toEqual([]);
    }
    expect(shown).toBeGreaterThan(0);
  });

  it('shows no outside name in `find`', async () => {
    const { root, workspace } = await attacked();
    expect(await leaksOfRipgrep(root, ['--no-ignore', '--files'])).toBeGreaterThan(0);
    let shown = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const outcome = await findFiles({ workspace }, '*.txt');
      if (!outcome.ok) continue;
      shown += outcome.paths.length;
      expect(outcome.paths.filter((path) => path.includes('beyond'))).toEqual([]);
    }
    expect(shown).toBeGreaterThan(0);
  });
});
