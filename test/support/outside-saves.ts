import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { deltasOf } from '../../src/model/entry.ts';
import type { Session } from '../../src/model/session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { openStore } from '../../src/store/open-state.ts';
import { startChild } from './child.ts';
import { entriesBelow, type Scratch, scratch } from './tree.ts';

export interface OutsideSaves {
  /**
   * `gated`: agents edit through Lookfirst. `naive`: agents read a file, write the new text to a
   * second file and rename it over the first, without any check.
   */
  readonly agents: 'gated' | 'naive';
  /** Milliseconds between two saves of each outside program. */
  readonly pauseMs: number;
  readonly forMs: number;
}

export interface SavesTally {
  /** Number of saves by the outside programs. */
  saves: number;
  /**
   * Number of saves that were overwritten: the program no longer found its save when it read the
   * file again.
   */
  displaced: number;
  /** Number of overwritten saves whose bytes the state folder does not keep. */
  missing: number;
  /** Number of overwritten saves that no journal entry mentions. */
  unnoted: number;
  edits: number;
  refused: number;
}

interface Lost {
  readonly path: string;
  readonly sha256: string;
  readonly missedMs: number;
}

const AGENTS = 3;
/**
 * Maximum time between the notice about an overwritten save and the moment when the outside program
 * finds that its save is gone. On a busy machine, this takes seconds.
 */
const NOTED_MS = 10_000;

/**
 * Agents edit their own lines in six files: three agents with `gated`, one with `naive`. Meanwhile,
 * two outside programs read, modify and save three of these files each, in a loop: one by rename,
 * one by truncating. Counts what happened to the saves.
 */
export async function attackOutsideSaves({ agents, pauseMs, forMs }: OutsideSaves): Promise<SavesTally> {
  const places = scratch();
  const programs = (['rename', 'truncate'] as const).map((how) => ({
    how,
    files: [0, 1, 2].map((n) => join(places.root, `${how}-${n}.txt`)),
  }));
  const files = programs.flatMap((program) => program.files);
  for (const file of files) writeFileSync(file, startText());
  const children = await Promise.all(
    programs.map((program) => startChild('outside-saver', { ...program, pauseMs })),
  );
  for (const child of children) await child.message();
  const work = { files, until: Date.now() + forMs };
  const { edits, refused } = await (agents === 'naive' ? naive(work) : gated(places, work));
  for (const child of children) child.send('stop');
  const told = await Promise.all(children.map((child) => child.message<{ saves: number; lost: Lost[] }>()));
  const lost = told.flatMap((each) => each.lost);
  const kept = keptHashes(places.home);
  return {
    saves: told.reduce((sum, each) => sum + each.saves, 0),
    displaced: lost.length,
    missing: lost.filter(({ sha256 }) => !kept.has(sha256)).length,
    unnoted: agents === 'naive' ? lost.length : await unnoted(places, lost),
    edits,
    refused,
  };
}

function startText(): string {
  const lines = Array.from({ length: 40 }, (_, n) => `line ${n}`);
  return `outside 0\n${[0, 1, 2].flatMap((n) => [...lines.slice(n * 10, n * 10 + 10), `agent-${n} 0`]).join('\n')}\n`;
}

interface Work {
  readonly files: readonly string[];
  readonly until: number;
}

async function gated({ root, home }: Scratch, work: Work): Promise<{ edits: number; refused: number }> {
  const sessions = await Sessions.open({ roots: [root], home, policy: { durability: 'none' } });
  try {
    const all = Array.from({ length: AGENTS }, async (_, n) =>
      agent(await sessions.session(`agent-${n}`), work),
    );
    const tallies = await Promise.all(all);
    return {
      edits: tallies.reduce((sum, { edits }) => sum + edits, 0),
      refused: tallies.reduce((sum, { refused }) => sum + refused, 0),
    };
  } finally {
    await sessions.close();
  }
}

async function agent(session: Session, { files, until }: Work): Promise<{ edits: number; refused: number }> {
  const counts = new Map<string, number>();
  let edits = 0;
  let refused = 0;
  for (let n = 0; Date.now() < until; n += 1) {
    const path = files[n % files.length] ?? '';
    const read = await session.read(path);
    const line = read.ok ? new RegExp(`^${session.id} \\d+$`, 'm').exec(read.text)?.[0] : undefined;
    if (line === undefined) continue;
    const count = (counts.get(path) ?? 0) + 1;
    counts.set(path, count);
    const done = await session.edit(path, [
      { oldString: `${line}\n`, newString: `${session.id} ${count}\n` },
    ]);
    edits += 1;
    if (!done.ok) refused += 1;
    await setImmediate();
  }
  return { edits, refused };
}

async function naive({ files, until }: Work): Promise<{ edits: number; refused: number }> {
  let edits = 0;
  for (; Date.now() < until; edits += 1) {
    const path = files[edits % files.length] ?? '';
    const text = readFileSync(path, 'utf8');
    await setImmediate();
    writeFileSync(`${path}.agent`, text.replace(/^agent-0 \d+$/m, `agent-0 ${edits}`));
    renameSync(`${path}.agent`, path);
  }
  return { edits, refused: 0 };
}

/** Hashes of all file contents that the state folder keeps. */
function keptHashes(home: string): ReadonlySet<string> {
  const hashes = new Set<string>();
  for (const { path, entry } of entriesBelow(home)) {
    if (!entry.isFile() || !/\/(images|retained)\//.test(path)) continue;
    hashes.add(createHash('sha256').update(readFileSync(path)).digest('hex'));
  }
  return hashes;
}

/**
 * The number of overwritten saves that no journal entry mentions. An entry mentions a save if it is
 * a notice about the file at about that time, or a change that replaced the saved bytes.
 */
async function unnoted({ home, root }: Scratch, lost: readonly Lost[]): Promise<number> {
  const store = await openStore(`sqlite:${join(home, 'lookfirst.db')}`);
  try {
    const entries = await store.entries({ kinds: ['notice', 'change'], order: 'oldest', limit: 1_000_000 });
    return lost.filter(({ path, sha256, missedMs }) => {
      const name = path.slice(root.length + 1);
      return !entries.some((entry) => {
        const { kind, path: about, atMs } = entry;
        if (kind === 'notice') return about === name && Math.abs(atMs - missedMs) <= NOTED_MS;
        return deltasOf(entry).some(
          ({ before }) => before.kind === 'file' && before.fingerprint.sha256 === sha256,
        );
      });
    }).length;
  } finally {
    await store.close();
  }
}
