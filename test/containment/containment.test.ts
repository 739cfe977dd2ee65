import { lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDisk } from '../../src/disk/context.ts';
import { Fault } from '../../src/model/fault.ts';
import { GUARANTEES, type Guarantee, strongestGuarantee } from '../../src/workspace/pinned.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { entriesBelow, IN_MEMORY, makeTree, type Scratch, scratch } from '../support/tree.ts';
import { type Done, OPERATIONS, type Operation, type Victim } from './operations.ts';
import { ROWS, type Row } from './table.ts';

const allowed = ROWS.filter((row) => row.leads !== 'outside');
const refused = ROWS.filter((row) => row.leads === 'outside');
const tiers = GUARANTEES.filter((tier) => tier !== 'walk' || strongestGuarantee() === 'walk');

describe.each(tiers)('with the guarantee %s', (tier) => {
  describe.each(operationsOf(tier))('$name', (operation) => {
    it.each(allowed)('works inside: $title', async (row) => {
      const { places, victim } = setUp(row, tier);
      const before = contentsOf(places.root);
      const done = await perform(victim, operation, pathOf(places, operation, row));
      expect(done).toMatchObject({ ok: true });
      if (typeof done === 'object' && done.shown !== undefined)
        expect(isOutside(places, done.shown)).toBe(false);
      else expect(contentsOf(places.root)).not.toBe(before);
    });

    it.each(refused)('stays inside: $title', async (row) => {
      const { places, victim } = setUp(row, tier);
      const before = outsideOf(places);
      const done = await perform(victim, operation, pathOf(places, operation, row));
      expect(outsideOf(places)).toBe(before);
      // Operations that remove or move a link affect the link, never its target.
      const onLink = row.leaf === 'link' && operation.links === 'itself';
      if (!onLink) expect(done).toBe(row.code ?? 'OUTSIDE_WORKSPACE');
    });
  });
});

describe('plain code gets out', () => {
  describe.each(OPERATIONS)('$name', (operation) => {
    const rows = refused.filter(
      (row) => row.control !== 'none' && (row.leaf !== 'link' || operation.plainFollowsLeaf),
    );
    it.each(rows)('by $title', (row) => {
      const { places } = setUp(row, 'best-effort');
      const before = outsideOf(places);
      const path = resolve(places.root, pathOf(places, operation, row));
      const shown = operation.plain(path, { spare: join(places.root, 'spare') });
      if (shown === undefined) expect(outsideOf(places)).not.toBe(before);
      else expect(isOutside(places, shown)).toBe(true);
    });
  });
});

/**
 * The operations to test at one level of guarantee for paths. `best-effort` differs from `walk`
 * only in how it resolves paths, so a few operations are enough for it.
 */
function operationsOf(tier: Guarantee): readonly Operation[] {
  const few = new Set(['readSnapshot', 'create', 'replace', 'remove']);
  return tier === 'walk' ? OPERATIONS : OPERATIONS.filter(({ name }) => few.has(name));
}

function setUp(row: Row, tier: Guarantee): { places: Scratch; victim: Victim } {
  const places = scratch(IN_MEMORY);
  makeTree(places, ['spare/x', ...row.tree]);
  const evil = `${places.root}-evil`;
  for (const folder of [places.outside, join(places.outside, 'd'), evil]) {
    mkdirSync(join(folder, 'empty'), { recursive: true });
    for (const name of ['f', 'outside-mark']) writeFileSync(join(folder, name), 'outside');
    symlinkSync('f', join(folder, 'k'));
  }
  if (row.leads !== 'outside') {
    const inside = join(places.root, row.leads.inside);
    symlinkSync('f', inside.replace(/f$/, 'k'));
    mkdirSync(inside.replace(/f$/, 'empty'));
  }
  const workspace = Workspace.open([places.root], { use: tier });
  const context = openDisk({ home: places.home, owner: 'us', durability: 'none' });
  onTestFinished(async () => {
    workspace.close();
    await context.close();
  });
  return { places, victim: { workspace, context } };
}

function pathOf(places: Scratch, operation: Operation, row: Row): string {
  const path = row.path.replace('ROOT', places.root).replace('OUTSIDE', places.outside);
  return path.replace(/f(\0?)$/, `${operation.on}$1`);
}

/** The operation's effect, or the code of the refusal or fault. */
async function perform(victim: Victim, operation: Operation, path: string): Promise<Done | string> {
  const outcome = victim.workspace.locate(path, 'status', operation.links === 'itself' ? 'parents' : 'all');
  if (!outcome.ok) return outcome.refusal.code;
  try {
    return await operation.ours(victim, outcome.located);
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  } finally {
    outcome.located.place.dir.close();
  }
}

function outsideOf(places: Scratch): string {
  return `${contentsOf(places.outside)}\n${contentsOf(`${places.root}-evil`)}`;
}

/** Every name below a folder with its inode and content. */
function contentsOf(folder: string): string {
  return entriesBelow(folder)
    .map(({ path, entry }) => {
      const held = entry.isFile()
        ? readFileSync(path, 'utf8')
        : entry.isSymbolicLink()
          ? readlinkSync(path)
          : '/';
      return `${path.slice(dirname(folder).length)} inode ${lstatSync(path).ino} ${held}`;
    })
    .sort()
    .join('\n');
}

function isOutside(places: Scratch, shown: string): boolean {
  return shown.startsWith('inode') ? outsideOf(places).includes(`${shown} `) : shown.includes('outside');
}
