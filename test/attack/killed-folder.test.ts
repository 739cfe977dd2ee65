import { expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { killFolderUndos } from '../support/killed-folder.ts';

const report = attackTable('an undo of a large folder, killed at any moment');

it('an undo of a large folder that is killed is done completely or not at all, and can be undone again', async () => {
  const tally = await killFolderUndos(60, 'undo');
  report({ ...tally });
  expect(tally.torn).toBe(0);
  // Fails if every undo was killed before its rename, or every undo after its rename.
  expect(Math.min(tally.untouched, tally.undone)).toBeGreaterThan(0);
});

it('control: removing the folder file by file leaves a part of it', async () => {
  expect((await killFolderUndos(60, 'naive')).torn).toBe(1);
});
