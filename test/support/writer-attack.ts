import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { loadNative, openDisk } from '../../src/disk/context.ts';
import { fingerprintOf, readSnapshot } from '../../src/disk/read.ts';
import { replace } from '../../src/disk/replace.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { startChild } from './child.ts';
import { WatchedChild } from './watched-child.ts';

export const WRITER_KINDS = ['append', 'inplace', 'rename', 'slow', 'mmap'] as const;
export type WriterKind = (typeof WRITER_KINDS)[number];
/**
 * `exchange`: swaps the old and the new file in one step. `claim`: moves the old file aside, then
 * puts the new one there. `naive`: compares the hash, then renames a temporary file over the name,
 * as most programs do.
 */
export type CommitKind = 'exchange' | 'claim' | 'naive';

/**
 * The reason why this kind of writer cannot be tested with this kind of commit on this machine;
 * undefined if it can.
 */
export function cannotRun(writer: WriterKind, commit: CommitKind): string | undefined {
  if (writer === 'mmap' && spawnSync('python3', ['-c', 'import mmap']).status !== 0)
    return 'no python3 to write through a mapping';
  return commit === 'exchange' && loadNative() === undefined ? 'no native exchange' : undefined;
}

export interface WriterAttack {
  readonly writer: WriterKind;
  readonly commit: CommitKind;
  /** Number of lines that the outside writer adds in one round; each round has its own file and state folder. */
  readonly writes: number;
  readonly rounds: number;
  /**
   * The parent of the state folder. If it is on another file system, replaced files must be copied
   * instead of moved.
   */
  readonly homes?: string;
  /** The most commits that we try in one round. Default: as many as fit into it. */
  readonly tries?: number;
}

export interface WriterTally {
  acknowledged: number;
  /**
   * Acknowledged lines that are neither in the file nor in a replaced file that the state folder
   * keeps.
   */
  lost: number;
  committed: number;
  conflicts: number;
  retained: number;
}

/** Lets an outside writer and our commits change one file at the same time, and counts the lost lines. */
export async function attackCommit(attack: WriterAttack): Promise<WriterTally> {
  const tally: WriterTally = { acknowledged: 0, lost: 0, committed: 0, conflicts: 0, retained: 0 };
  for (let round = 0; round < attack.rounds; round += 1) await fight(attack, tally);
  return tally;
}

async function fight(attack: WriterAttack, tally: WriterTally): Promise<void> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-writers-')));
  const home =
    attack.homes === undefined ? join(base, 'home') : mkdtempSync(join(attack.homes, 'lookfirst-'));
  try {
    const root = join(base, 'root');
    mkdirSync(root);
    const target = join(root, 'f.txt');
    writeFileSync(target, header(0));
    const writer = await startWriter(attack, target);
    const acknowledged =
      attack.commit === 'naive'
        ? await commitNaively(writer, target, tally)
        : await commitOurs(writer, { root, home, commit: attack.commit, tries: attack.tries }, tally);
    const found = linesIn([target, ...filesIn(join(home, 'retained'))]);
    tally.acknowledged += acknowledged.length;
    tally.lost += acknowledged.filter((number) => !found.has(number)).length;
    tally.retained += filesIn(join(home, 'retained')).length;
  } finally {
    rmSync(base, { recursive: true, force: true });
    rmSync(home, { recursive: true, force: true });
  }
}

interface OutsideWriter {
  readonly done: boolean;
  start(): void;
  acknowledged(): Promise<number[]>;
}

async function startWriter(attack: WriterAttack, target: string): Promise<OutsideWriter> {
  if (attack.writer === 'mmap') return startMapping(attack, target);
  const child = await startChild('kernel-outside-writer', {
    kind: attack.writer,
    target,
    writes: attack.writes,
  });
  await child.message();
  return {
    get done(): boolean {
      return child.waiting > 0;
    },
    start: () => child.send('go'),
    acknowledged: () => child.message(),
  };
}

async function startMapping(attack: WriterAttack, target: string): Promise<OutsideWriter> {
  const script = fileURLToPath(new URL('../children/kernel-mmap-writer.py', import.meta.url));
  const child = spawn('python3', [script, JSON.stringify({ target, writes: attack.writes })], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout);
  const watched = new WatchedChild(child);
  await watched.whileRunning(once(lines, 'line'));
  let done = false;
  const answer = watched.whileRunning(once(lines, 'line')).then(([line]) => {
    done = true;
    // The cast is safe: our own script writes this file.
    return JSON.parse(line) as number[];
  });
  // A test may end before it looks at the answer.
  answer.catch(() => undefined);
  return {
    get done(): boolean {
      return done;
    },
    start: () => void child.stdin.write('go\n'),
    acknowledged: () => answer,
  };
}

async function commitOurs(
  writer: OutsideWriter,
  places: { root: string; home: string; commit: 'exchange' | 'claim'; tries?: number | undefined },
  tally: WriterTally,
): Promise<number[]> {
  const workspace = Workspace.open([places.root]);
  mkdirSync(places.home, { recursive: true });
  const context = openDisk({
    home: places.home,
    owner: 'us',
    durability: 'none',
    commit: places.commit,
  });
  try {
    writer.start();
    const { tries = Number.POSITIVE_INFINITY } = places;
    for (let turn = 1; !writer.done; turn += 1) {
      await setImmediate();
      if (turn > tries) continue;
      const outcome = await commitOnce(workspace, context, turn);
      if (outcome === 'committed') tally.committed += 1;
      else if (outcome === 'conflict') tally.conflicts += 1;
    }
    return await writer.acknowledged();
  } finally {
    await context.close();
    workspace.close();
  }
}

async function commitOnce(
  workspace: Workspace,
  context: ReturnType<typeof openDisk>,
  turn: number,
): Promise<'committed' | 'conflict' | 'absent'> {
  const outcome = workspace.locate('f.txt', 'edit');
  if (!outcome.ok) throw new Error(outcome.refusal.code);
  const { place } = outcome.located;
  try {
    const seen = await readSnapshot(place, { clock: context.clock });
    if ('problem' in seen) return 'absent';
    const bytes = Buffer.concat([Buffer.from(header(turn)), seen.bytes.subarray(header(0).length)]);
    const expected = { fingerprint: seen.fingerprint, bytes: seen.bytes };
    const done = await replace(context, place, { bytes, expected });
    return done.ok ? 'committed' : 'conflict';
  } finally {
    place.dir.close();
  }
}

async function commitNaively(writer: OutsideWriter, target: string, tally: WriterTally): Promise<number[]> {
  writer.start();
  for (let turn = 1; !writer.done; turn += 1) {
    const seen = readFileSync(target);
    const bytes = Buffer.concat([Buffer.from(header(turn)), seen.subarray(header(0).length)]);
    if (fingerprintOf(readFileSync(target)).sha256 === fingerprintOf(seen).sha256) {
      writeFileSync(`${target}.naive`, bytes);
      renameSync(`${target}.naive`, target);
      tally.committed += 1;
    } else tally.conflicts += 1;
    await setImmediate();
  }
  return writer.acknowledged();
}

/** The first line of the file, which each of our commits replaces. It has a fixed length. */
function header(turn: number): string {
  return `ours ${String(turn).padStart(9, '0')}\n`;
}

function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

function linesIn(files: readonly string[]): Set<number> {
  const found = new Set<number>();
  for (const file of files) {
    for (const match of readFileSync(file, 'latin1').matchAll(/w(\d+)\n/g)) found.add(Number(match[1]));
  }
  return found;
}
