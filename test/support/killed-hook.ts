import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { environment, lookfirst, PROGRAM } from './command-line.ts';
import { Hooked } from './hooked.ts';
import type { Scratch } from './tree.ts';

/** The counts of all rounds. */
export interface KilledRounds {
  /** Killed before the call: the client refuses it. */
  old: number;
  /** The change was made. */
  new: number;
  killed: number;
}

/**
 * A client reads a file and overwrites it, with its write tool or its shell. In each round the hook process before the call,
 * or the one after it, is killed at another moment. A client whose hook before a change is killed does not make the change,
 * except one that fails open. Then the file must be old or new, and the journal must say which.
 */
export async function killHooks(places: Scratch, rounds: number): Promise<KilledRounds> {
  const agent = new Hooked(places);
  const file = join(places.root, 'a.txt');
  const seen: KilledRounds = { old: 0, new: 0, killed: 0 };
  writeFileSync(file, 'start\n');
  const began = performance.now();
  await hookProcess(places, { event: 'before', action: 'read', input: { path: 'a.txt' } }, 60_000);
  const usualMs = performance.now() - began;
  for (let round = 0; round < rounds; round += 1) {
    const [before, after] = [readFileSync(file, 'utf8'), `round ${round}\n`];
    await agent.read('a.txt', before);
    const afterMs = usualMs * (0.4 + (0.8 * Math.floor(round / 4)) / (rounds / 4));
    const [killsFirst, failsOpen] = [round % 2 === 0, round % 4 === 2];
    const command = `printf 'round ${round}\\n' > a.txt`;
    const call = {
      call: `call-${round}`,
      ...(round % 3 === 0
        ? { action: 'run', input: { command } }
        : { action: 'write', input: { path: 'a.txt', content: after } }),
    };
    const asked = await hookProcess(places, { event: 'before', ...call }, killsFirst ? afterMs : 60_000);
    if (asked.killed ? failsOpen : asked.stdout.includes('"pass"')) {
      writeFileSync(file, after);
      const told = await hookProcess(
        places,
        { event: 'after', ...call, output: '' },
        killsFirst ? 60_000 : afterMs,
      );
      seen.killed += told.killed ? 1 : 0;
    }
    seen.killed += asked.killed ? 1 : 0;
    await agent.prompt('next');
    const now = readFileSync(file, 'utf8');
    expect([before, after]).toContain(now);
    seen[now === after ? 'new' : 'old'] += 1;
    await checkJournal(places, { call: call.call, isNew: now === after, before });
  }
  expect(await lookfirst(places, ['log', '--verify'])).toMatchObject({ code: 0 });
  return seen;
}

/** A new file is named by the call's change, which can be undone, or recorded as unjudged; an old file by neither. */
async function checkJournal(
  places: Scratch,
  { call, isNew, before }: { readonly call: string; readonly isNew: boolean; readonly before: string },
): Promise<void> {
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  try {
    const { store } = sessions.world;
    expect(await store.pending()).toEqual([]);
    const entries = await store.entries({ session: 's', kinds: ['change', 'unjudged'], limit: 20 });
    const [named, ...more] = entries.filter((entry) => entry.call === call);
    expect([named !== undefined, more]).toEqual([isNew, []]);
    if (named?.kind !== 'change' || named.change === undefined) return;
    const session = await sessions.session('s');
    const file = join(places.root, 'a.txt');
    const after = readFileSync(file, 'utf8');
    expect(await session.undo({ change: named.change })).toMatchObject({ ok: true });
    expect(readFileSync(file, 'utf8')).toBe(before);
    writeFileSync(file, after);
  } finally {
    await sessions.close();
  }
}

/** Sends one neutral event to a new process, which is killed after some time. */
function hookProcess(
  places: Scratch,
  event: object,
  killAfterMs: number,
): Promise<{ readonly killed: boolean; readonly stdout: string }> {
  const [program = '', ...first] = PROGRAM;
  // A named store keeps the process from starting a resident.
  const env = environment(places, { LOOKFIRST_STORE: `sqlite:${join(places.home, 'lookfirst.db')}` });
  return new Promise((resolve) => {
    const child = spawn(program, [...first, 'hook', 'generic'], { cwd: places.root, env });
    const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    let stdout = '';
    child.stdout.on('data', (part) => (stdout += part));
    child.stdin.on('error', () => undefined);
    child.on('close', (_code, signal) => {
      clearTimeout(timer);
      resolve({ killed: signal === 'SIGKILL', stdout });
    });
    child.stdin.end(JSON.stringify({ session: 's', cwd: places.root, ...event }));
  });
}
