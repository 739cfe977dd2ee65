import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FileIntent } from '../../src/model/intent.ts';
import type { UndoSelection } from '../../src/model/session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { rounds } from '../support/rounds.ts';
import { textsIn } from '../support/texts.ts';
import { IN_MEMORY, scratch } from '../support/tree.ts';
import { treeWithModes } from '../support/tree-replay.ts';

const path = fc.constantFrom('a', 'b', 'd', 'd/a', 'd/b', 'd/e', 'd/e/a', 'f', 'f/a', 'f/e/a');
const operation: fc.Arbitrary<FileIntent> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      path,
      content: fc.constantFrom('1\n', '2\n', '3\n'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('delete' as const), path, recursive: fc.constant(true) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('mkdir' as const), path }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('move' as const), source: path, destination: path }),
  },
);
const change = fc.array(operation, { minLength: 1, maxLength: 3 });
const changes = fc.array(change, { minLength: 1, maxLength: 9 });
type Change = readonly FileIntent[];

/** A workspace in which sessions change whatever they want: they look at everything first. */
class Shop {
  readonly root: string;
  readonly #sessions: Sessions;

  constructor(root: string, sessions: Sessions) {
    this.root = root;
    this.#sessions = sessions;
  }

  look(): string[] {
    return treeWithModes(this.root);
  }

  /** Makes a change. False if it was refused or changed nothing. */
  async change(who: string, intents: Change): Promise<boolean> {
    const session = await this.#sessions.session(who);
    const before = this.look();
    await session.list('.', { depth: 9 });
    for (const each of Object.keys(textsIn(this.root))) await session.read(each);
    const outcome = await session.apply(intents);
    if (!outcome.ok) expect(this.look()).toEqual(before);
    return outcome.ok && outcome.change !== undefined;
  }

  /** Undoes what `who` selects. Undefined if there was nothing to do. */
  async undo(who: string, selection: UndoSelection): Promise<string | undefined> {
    const outcome = await (await this.#sessions.session(who)).undo(selection);
    if (!outcome.ok) expect(outcome.refusal.detail?.reason).toMatch(/no change left/);
    return outcome.ok ? outcome.change : undefined;
  }

  /** Like `undo`, but may be refused. A refused undo changes nothing. */
  async tryUndo(who: string, selection: UndoSelection): Promise<boolean> {
    const before = this.look();
    const outcome = await (await this.#sessions.session(who)).undo(selection);
    if (!outcome.ok) {
      expect(['STALE', 'NOT_FOUND', 'DELETED', 'NOT_READ', 'NOT_A_FILE']).toContain(outcome.refusal.code);
      expect(this.look()).toEqual(before);
    }
    return outcome.ok;
  }

  async changesMade(): Promise<readonly string[]> {
    const entries = await this.#sessions.world.store.entries({ kinds: ['change'], order: 'oldest' });
    return entries.map((entry) => entry.change ?? '');
  }
}

async function inShop(work: (shop: Shop) => Promise<void>): Promise<void> {
  const { root, home } = scratch(IN_MEMORY);
  const policy = { durability: 'none' } as const;
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:', policy });
  try {
    await work(new Shop(root, sessions));
  } finally {
    await sessions.close();
  }
}

describe('after any random changes,', () => {
  it('undoing all of them since a moment restores the state at that moment', async () => {
    await fc.assert(
      fc.asyncProperty(changes, changes, (before, after) =>
        inShop(async (shop) => {
          for (const each of before) await shop.change('s', each);
          const then = shop.look();
          // Changes of the next millisecond cannot be confused with the earlier ones.
          const sinceMs = Date.now() + 1;
          while (Date.now() < sinceMs);
          for (const each of after) await shop.change('s', each);
          await shop.undo('s', { sinceMs });
          expect(shop.look()).toEqual(then);
          await shop.undo('s', { sinceMs: 0 });
          expect(shop.look()).toEqual([]);
        }),
      ),
      { numRuns: rounds(25, 300) },
    );
  });

  it('undoing one by one restores every state in between', async () => {
    await fc.assert(
      fc.asyncProperty(changes, (all) =>
        inShop(async (shop) => {
          const states: string[][] = [];
          for (const each of all) {
            const state = shop.look();
            if (await shop.change('s', each)) states.push(state);
          }
          for (const state of states.reverse()) {
            expect(await shop.undo('s', {})).toBeDefined();
            expect(shop.look()).toEqual(state);
          }
          expect(await shop.undo('s', {})).toBeUndefined();
        }),
      ),
      { numRuns: rounds(25, 300) },
    );
  });

  it('undoing an undo redoes the changes, and they can be undone again', async () => {
    await fc.assert(
      fc.asyncProperty(changes, fc.array(fc.boolean(), { maxLength: 8 }), (all, bySteps) =>
        inShop(async (shop) => {
          for (const each of all) await shop.change('s', each);
          const states = [shop.look()];
          const undone: string[] = [];
          for (const one of bySteps) {
            const id = await shop.undo('s', one ? {} : { sinceMs: 0 });
            if (id === undefined) break;
            undone.push(id);
            states.push(shop.look());
          }
          for (const id of undone.reverse()) {
            states.pop();
            expect(await shop.undo('s', { change: id })).toBeDefined();
            expect(shop.look()).toEqual(states.at(-1));
          }
          await shop.undo('s', { sinceMs: 0 });
          expect(shop.look()).toEqual([]);
        }),
      ),
      { numRuns: rounds(25, 300) },
    );
  });

  it('undoing all changes of a session leaves the files of another as they are, whatever was undone and redone', async () => {
    const step = fc.oneof(
      { weight: 2, arbitrary: fc.tuple(fc.constantFrom('s', 't'), change) },
      { weight: 3, arbitrary: fc.nat(20) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), (all) =>
        inShop(async (shop) => {
          for (const each of all)
            if (typeof each !== 'number') await shop.change(each[0], each[1].map(below(each[0])));
            else {
              const made = await shop.changesMade();
              const id = made[each % Math.max(1, made.length)];
              if (id !== undefined) await shop.tryUndo('s', { change: id });
            }
          const theirs = filesOf(shop, 't');
          await shop.tryUndo('s', { session: 's' });
          expect(filesOf(shop, 't')).toEqual(theirs);
        }),
      ),
      { numRuns: rounds(40, 400) },
    );
  });

  it('an undo of one of two sessions works or is refused, and a refused one changes nothing', async () => {
    const turns = fc.array(fc.tuple(fc.constantFrom('s', 't'), change), { minLength: 2, maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(turns, fc.boolean(), fc.boolean(), fc.option(path), (all, one, merge, only) =>
        inShop(async (shop) => {
          for (const [who, each] of all) await shop.change(who, each);
          const limits = only === null ? {} : { path: only };
          const then = shop.look();
          const selection = one ? { ...limits, merge } : { session: 's', ...limits, merge };
          if (await shop.tryUndo('s', { ...selection, preview: true })) expect(shop.look()).toEqual(then);
          await shop.tryUndo('s', selection);
        }),
      ),
      { numRuns: rounds(40, 400) },
    );
  });
});

/** Returns a function that puts the paths of a change into a folder. */
function below(folder: string): (intent: FileIntent) => FileIntent {
  return (intent) => {
    if (intent.kind === 'move')
      return {
        ...intent,
        source: `${folder}/${intent.source}`,
        destination: `${folder}/${intent.destination}`,
      };
    return 'path' in intent ? { ...intent, path: `${folder}/${intent.path}` } : intent;
  };
}

function filesOf(shop: Shop, folder: string): Record<string, string> {
  const files = Object.entries(textsIn(shop.root)).filter(([name]) => name.startsWith(`${folder}/`));
  return Object.fromEntries(files);
}
