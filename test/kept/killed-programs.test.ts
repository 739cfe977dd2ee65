import { describe, expect, it } from 'vitest';
import { AFTER, BEFORE, type ChangeName, change, PATHS } from '../support/changes.ts';
import { startChild } from '../support/child.ts';
import { type Bench, bench, type CommitStep } from '../support/disk.ts';
import { recoverAll } from '../support/recovery.ts';
import { IN_MEMORY, scratch, treeOf } from '../support/tree.ts';

type State = 'old' | 'new' | 'both names';
type Kind = 'exchange' | 'claim';

const TEMP: readonly (readonly [CommitStep, State])[] = [
  ['temp-open', 'old'],
  ['temp-write', 'old'],
  ['temp-attributes', 'old'],
  ['temp-sync', 'old'],
];

/**
 * For each kind of change and commit, its steps in order. Each step has the state of the tree after
 * the process was killed just before this step and Lookfirst was started again.
 */
const ROWS: readonly (readonly [ChangeName, Kind, readonly (readonly [CommitStep, State])[]])[] = [
  ['create', 'exchange', [...TEMP, ['publish', 'old'], ['folder-sync', 'new']]],
  [
    'replace',
    'exchange',
    [
      ...TEMP,
      ['compare', 'old'],
      ['exchange', 'old'],
      ['verify', 'new'],
      ['folder-sync', 'new'],
      ['retain', 'new'],
    ],
  ],
  [
    'replace',
    'claim',
    [
      ...TEMP,
      ['compare', 'old'],
      ['claim', 'old'],
      // From here on until `publish`, the file has only a temporary name. The next start of Lookfirst
      // renames it back.
      ['verify', 'old'],
      ['publish', 'old'],
      ['folder-sync', 'new'],
      ['retain', 'new'],
    ],
  ],
  [
    'remove',
    'claim',
    [
      ['compare', 'old'],
      ['claim', 'old'],
      ['verify', 'old'],
      ['folder-sync', 'old'],
      ['retain', 'old'],
    ],
  ],
  ['remove a link', 'claim', [['claim', 'old']]],
  [
    'move',
    'claim',
    [
      ['publish', 'old'],
      ['claim', 'both names'],
      ['folder-sync', 'new'],
    ],
  ],
  [
    'move a folder',
    'claim',
    [
      ['publish', 'old'],
      ['folder-sync', 'new'],
    ],
  ],
];

describe('kill -9 before any step, and the next start', () => {
  it.each(ROWS)(
    '%s by %s: the old or the new state, no bytes lost, no files left over',
    async (name, commit, rows) => {
      expect(await stepsOf(name, commit)).toEqual(rows.map(([step]) => step));
      // `exchange` and `claim` write the temporary file in the same steps. So these steps are
      // tested for `exchange` only.
      const told = commit === 'claim' ? rows.filter((row) => !TEMP.includes(row)) : rows;
      const states = await Promise.all(told.map(([step]) => killAt(step, { name, commit })));
      expect(told.map(([step], index) => [step, states[index]])).toEqual(told);
    },
  );
});

it('two starts at once do not disturb each other', async () => {
  const disk = bench(BEFORE, { commit: 'claim' }, scratch(IN_MEMORY));
  await killIn(disk, 'verify', { name: 'replace', commit: 'claim' });
  const children = await Promise.all(
    [1, 2].map((number) =>
      startChild('kernel-starter', { root: disk.root, home: disk.home, owner: `start${number}` }),
    ),
  );
  for (const child of children) await child.message();
  for (const child of children) child.send('go');
  const ends = await Promise.all(children.map((child) => child.exit()));
  expect(ends.map(({ code }) => code)).toEqual([0, 0]);
  expect(treeOf(disk.root)).toEqual([...BEFORE].sort());
});

async function stepsOf(name: ChangeName, commit: Kind): Promise<CommitStep[]> {
  const steps: CommitStep[] = [];
  const trace = (step: CommitStep): void => void steps.push(step);
  const disk = bench(BEFORE, { commit, durability: 'full', trace }, scratch(IN_MEMORY));
  expect(await change(disk.workspace, disk.context, name)).toBe(true);
  return [...new Set(steps)];
}

interface Killing {
  readonly name: ChangeName;
  readonly commit: Kind;
}

/**
 * Kills a child just before a step, and cleans up as the next start of Lookfirst does. Returns the
 * state of the tree.
 */
async function killAt(step: CommitStep, killing: Killing): Promise<State> {
  const disk = bench(BEFORE, { commit: killing.commit }, scratch(IN_MEMORY));
  await killIn(disk, step, killing);
  expect(recoverAll(disk.workspace, disk.context, { change: 'killed', paths: PATHS })).toBe('clear');
  const tree = treeOf(disk.root);
  const state = stateOf(killing.name, tree);
  if (state === 'new' && (killing.name === 'replace' || killing.name === 'remove')) {
    expect(disk.retained()).toContain('old');
  }
  return state;
}

async function killIn(disk: Bench, step: CommitStep, killing: Killing): Promise<void> {
  const child = await startChild('kernel-killed', { root: disk.root, home: disk.home, step, ...killing });
  expect(await child.exit()).toEqual({ code: null, signal: 'SIGKILL' });
}

function stateOf(name: ChangeName, tree: readonly string[]): State {
  const found = tree.join('\n');
  if (found === [...BEFORE].sort().join('\n')) return 'old';
  if (found === [...AFTER[name]].sort().join('\n')) return 'new';
  // A move gives the file its new name before it removes the old one, so both names may exist.
  const both = BEFORE.filter((line) => line !== 'other/').concat('other/f: old');
  expect([name, tree]).toEqual(['move', both.sort()]);
  return 'both names';
}
