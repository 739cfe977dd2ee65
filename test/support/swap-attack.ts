import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { openDisk } from '../../src/disk/context.ts';
import { errnoOf } from '../../src/model/fault.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { startChild } from './child.ts';
import {
  type Attempt,
  INSIDE,
  makeVictimTree,
  OUTSIDE,
  type SwapOperation,
  type Victim,
} from './swap-operations.ts';
import { type Scratch, scratch } from './tree.ts';

/**
 * The name that the attacker exchanges for a link to the same name outside the root. `folder`: a
 * folder on the path. `relative`: the same folder, but the link has a relative target. `leaf`: the
 * file itself. `root`: the root.
 */
export type SwapVariant = 'folder' | 'relative' | 'leaf' | 'root';

export interface SwapAttack {
  readonly operation: SwapOperation;
  readonly variant: SwapVariant;
  /**
   * `ours`: the code under test. `naive`: simple code, which checks that the path is inside the
   * root and then works by path.
   */
  readonly code: 'ours' | 'naive';
  readonly tries: number;
  /**
   * The attack continues until this many tries were served and this many were refused. With the
   * variant `root`, none need be refused. With `naive`, also this many must have escaped. `PATIENCE`
   * limits the number of tries.
   */
  readonly atLeast?: number;
}

/**
 * Maximum number of tries, as a multiple of `tries`. If the attacker and our process share one
 * processor, most tries have no effect: the attacker runs only while our process is interrupted.
 */
const PATIENCE = 1000;

export interface SwapTally {
  tries: number;
  served: number;
  refused: number;
  escaped: number;
  swaps: number;
}

/** Works below a folder that another process keeps exchanging for a link to the outside, and counts the escapes. */
export async function attackPath(attack: SwapAttack): Promise<SwapTally> {
  const places = scratch();
  const { left, right } = layOut(places, attack.variant);
  const workspace = Workspace.open([places.root]);
  const context = openDisk({ home: places.home, owner: 'us', durability: 'none' });
  const tally: SwapTally = { tries: 0, served: 0, refused: 0, escaped: 0, swaps: 0 };
  try {
    const before = outsideFiles(places);
    const attacker = await startChild('kernel-swapper', { left, right });
    await attacker.message();
    await run(attack, { root: places.root, workspace, context }, { places, tally });
    attacker.send('stop');
    tally.swaps = await attacker.message<number>();
    if (outsideFiles(places) !== before) tally.escaped += 1;
    return tally;
  } finally {
    await context.close();
    workspace.close();
  }
}

async function run(
  attack: SwapAttack,
  victim: Victim,
  { places, tally }: { places: Scratch; tally: SwapTally },
): Promise<void> {
  const atLeast = attack.atLeast ?? 1;
  const enough = (): boolean =>
    tally.served >= atLeast &&
    (tally.refused >= atLeast || attack.variant === 'root') &&
    (attack.code === 'ours' || tally.escaped >= atLeast);
  for (
    ;
    tally.tries < attack.tries || (!enough() && tally.tries < attack.tries * PATIENCE);
    tally.tries += 1
  ) {
    const touched = outsideTime(places);
    const attempt =
      attack.code === 'ours' ? await attack.operation.attempt(victim) : await naively(attack, victim);
    tally[outsideTime(places) === touched ? attempt : 'escaped'] += 1;
    if (tally.tries % 64 === 0) await setImmediate();
  }
}

async function naively(attack: SwapAttack, victim: Victim): Promise<Attempt> {
  const folder = join(victim.root, 'a/b/c');
  try {
    const checked = await realpath(attack.variant === 'leaf' ? join(folder, 'f.txt') : folder);
    if (!checked.startsWith(`${victim.root}/`)) return 'refused';
    return attack.operation.naive(folder) ?? 'served';
  } catch (error) {
    // A system error is expected, because the folder may be exchanged in the middle of the
    // operation. Any other error is a bug.
    if (errnoOf(error) === undefined) throw error;
    return 'refused';
  }
}

/**
 * Creates equal trees inside and outside the root, and a link to the outside. Returns the two names
 * to exchange.
 */
function layOut(places: Scratch, variant: SwapVariant): { left: string; right: string } {
  const folder = join(places.root, 'a/b');
  const twin = join(places.outside, 'a/b');
  makeVictimTree(folder, INSIDE, 'inside-mark');
  makeVictimTree(twin, OUTSIDE, 'outside-mark');
  mkdirSync(join(places.root, 'safe'));
  for (const name of ['h.txt', 'x.txt']) writeFileSync(join(places.root, 'safe', name), INSIDE);
  const [left, target] = {
    folder: [folder, twin],
    relative: [folder, '../../outside/a/b'],
    leaf: [join(folder, 'c/f.txt'), join(twin, 'c/f.txt')],
    root: [places.root, places.outside],
  }[variant] as [string, string];
  const right = `${left}-evil`;
  symlinkSync(target, right);
  return { left, right };
}

/**
 * The ctime of the outside folder, in nanoseconds. It changes with every name that is created,
 * moved or removed there.
 */
function outsideTime(places: Scratch): bigint {
  return lstatSync(join(places.outside, 'a/b/c'), { bigint: true }).ctimeNs;
}

function outsideFiles(places: Scratch): string {
  const files = ['f.txt', 'm.txt', 'w.txt', 'r.txt'].map((name) => join(places.outside, 'a/b/c', name));
  return files
    .map((file) => `${lstatSync(file, { throwIfNoEntry: false })?.ino} ${safeRead(file)}`)
    .join('\n');
}

function safeRead(file: string): string {
  return lstatSync(file, { throwIfNoEntry: false }) === undefined ? 'gone' : readFileSync(file, 'latin1');
}
