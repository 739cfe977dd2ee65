import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { isWithin } from '../../src/model/path.ts';
import type { Session } from '../../src/model/session.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { IN_MEMORY, scratch } from '../support/tree.ts';
import { textsIn } from './texts.ts';
import { treeWithModes } from './tree-replay.ts';

const path = fc.constantFrom('a', 'b', 'd/a', 'd/b', 'd/s/a', 'e/a', 'e/s/b');
const folder = fc.constantFrom('d', 'e', 'f', 'd/s', 'e/s');
const who = fc.constantFrom('one', 'one', 'two');
const text = fc
  .array(fc.constantFrom('x', 'y', 'z', '1', '2', '3'), { minLength: 1, maxLength: 8 })
  .map((lines) => `${lines.join('\n')}\n`);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ does: fc.constant('write'), who, path, text }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('delete'), who, path }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('move'), who, path, to: path }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('move'), who, path: folder, to: folder }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('undo'), nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('outside'), path, text }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** One path gets a text, loses its file, or gets what was at `from`. */
interface Op {
  readonly path: string;
  readonly text?: string | undefined;
  readonly from?: string;
}

interface Made {
  /** Undefined for a change by another program. */
  readonly change: string | undefined;
  readonly ops: readonly Op[];
}

export interface UndoTally {
  steps: number;
  undone: number;
  replayed: number;
  all: number;
}

/**
 * Runs random programs of two sessions and an outside program. After every undo, the files must be
 * those of the same program without the undone change, and an undo of the undo must restore the
 * files before it. At the end, an undo of everything must leave nothing.
 */
export async function undoAgainstReplay(runs: number, seed?: number): Promise<UndoTally> {
  const tally = { steps: 0, undone: 0, replayed: 0, all: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 18 }), async (program) => {
      const { root, home } = scratch(IN_MEMORY);
      const policy = { durability: 'none' } as const;
      const sessions = await Sessions.open({ roots: [root], home, store: 'memory:', policy });
      try {
        await new Program(root, sessions, tally).run(program);
      } finally {
        await sessions.close();
      }
    }),
    { numRuns: runs, ...(seed === undefined ? {} : { seed }) },
  );
  return tally;
}

class Program {
  readonly #root: string;
  readonly #sessions: Sessions;
  readonly #tally: UndoTally;
  readonly #log: Made[] = [];

  constructor(root: string, sessions: Sessions, tally: UndoTally) {
    this.#root = root;
    this.#sessions = sessions;
    this.#tally = tally;
  }

  async run(program: readonly Step[]): Promise<void> {
    for (const each of program) {
      this.#tally.steps += 1;
      const before = treeWithModes(this.#root);
      const isDone = each.does === 'outside' ? this.#outside(each) : await this.#step(each);
      if (!isDone) expect(treeWithModes(this.#root), 'a refused call changes nothing').toEqual(before);
      expect(await this.#sessions.world.store.pending()).toEqual([]);
    }
    if (this.#log.length === 0 || program.some(({ does }) => does === 'outside')) return;
    this.#tally.all += 1;
    // Refused if everything is undone already; only the tree decides.
    await (await this.#sessions.session('user')).undo({ sinceMs: 0 });
    expect(treeWithModes(this.#root), 'undo of everything').toEqual([]);
  }

  async #step(each: Exclude<Step, { does: 'outside' }>): Promise<boolean> {
    if (each.does === 'undo') return this.#undo(each);
    const session = await this.#sessions.session(each.who);
    const isThere = (wanted: string): boolean => Object.hasOwn(textsIn(this.#root), wanted);
    if (each.does === 'write') {
      if (isThere(each.path)) await session.read(each.path);
      return this.#record(await session.write(each.path, each.text), [{ path: each.path, text: each.text }]);
    }
    if (each.does === 'delete') {
      if (isThere(each.path)) await session.read(each.path);
      return this.#record(await session.delete(each.path), [{ path: each.path }]);
    }
    const moved = await session.move(each.path, each.to);
    return this.#record(moved, [{ path: each.to, from: each.path }]);
  }

  #record(outcome: Outcome<{ readonly change?: string | undefined }>, ops: readonly Op[]): boolean {
    if (!outcome.ok || outcome.change === undefined) return false;
    this.#log.push({ change: outcome.change, ops });
    return true;
  }

  #outside(each: Extract<Step, { does: 'outside' }>): boolean {
    try {
      mkdirSync(join(this.#root, dirname(each.path)), { recursive: true });
      writeFileSync(join(this.#root, each.path), each.text);
    } catch {
      // A file is in the place of a folder, or the other way round.
      return true;
    }
    this.#log.push({ change: undefined, ops: [{ path: each.path, text: each.text }] });
    return true;
  }

  async #undo({ nth }: { readonly nth: number }): Promise<boolean> {
    const changes = this.#log.flatMap(({ change }) => change ?? []);
    const change = changes[nth % Math.max(1, changes.length)];
    if (change === undefined) return false;
    // The user may take back anything.
    const user = await this.#sessions.session('user');
    const before = textsIn(this.#root);
    const undone = await this.#taken(user, change);
    if (undone === undefined) return false;
    this.#tally.undone += 1;
    if (isIndependent(this.#log, change)) {
      this.#tally.replayed += 1;
      expect(textsIn(this.#root), `undo of ${change}`).toEqual(replayed(this.#log, change));
    }
    const after = textsIn(this.#root);
    this.#log.push({ change: undone, ops: opsBetween(before, after) });
    const redone = await this.#taken(user, undone);
    expect(redone, 'an undo can be undone').toBeDefined();
    expect(textsIn(this.#root), 'undo of the undo').toEqual(before);
    this.#log.push({ change: redone, ops: opsBetween(after, before) });
    const again = await this.#taken(user, redone ?? '');
    expect(textsIn(this.#root), 'and back again').toEqual(after);
    this.#log.push({ change: again, ops: opsBetween(before, after) });
    return true;
  }

  async #taken(user: Session, change: string): Promise<string | undefined> {
    for (const key of Object.keys(textsIn(this.#root))) await user.read(key);
    const outcome = await user.undo({ change });
    return outcome.ok ? outcome.change : undefined;
  }
}

/** The operations that turn one set of files into another. */
function opsBetween(before: Record<string, string>, after: Record<string, string>): Op[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...paths]
    .filter((each) => before[each] !== after[each])
    .map((each) => ({ path: each, text: after[each] }));
}

/** The files after all changes but one. */
function replayed(log: readonly Made[], without: string): Record<string, string> {
  const files = new Map<string, string>();
  for (const { ops } of log.filter(({ change }) => change !== without))
    for (const { path: to, text: content, from } of ops) {
      if (from !== undefined) moveIn(files, from, to);
      else if (content === undefined) files.delete(to);
      else files.set(to, content);
    }
  return Object.fromEntries([...files].sort());
}

function moveIn(files: Map<string, string>, from: string, to: string): void {
  for (const [each, content] of [...files].filter(([each]) => isWithin(each, from))) {
    files.delete(each);
    files.set(to + each.slice(from.length), content);
  }
}

/** True if no later change concerns the same paths: then a replay without the change is the exact answer. */
function isIndependent(log: readonly Made[], wanted: string): boolean {
  const index = log.findIndex(({ change }) => change === wanted);
  const own = log[index]?.ops ?? [];
  const ends = (ops: readonly Op[]): string[] => ops.flatMap(({ path: to, from }) => [to, from ?? to]);
  const mine = ends(own);
  const isNear = (each: string): boolean => mine.some((one) => isWithin(each, one) || isWithin(one, each));
  return !log.slice(index + 1).some(({ ops }) => ends(ops).some(isNear));
}
