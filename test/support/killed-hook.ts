import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { environment, lookfirst, PROGRAM } from './command-line.ts';
import { Hooked } from './hooked.ts';
import { overwriteEvent, type Replayed } from './replayed-client.ts';
import type { Scratch } from './tree.ts';

/** The counts of all rounds. */
export interface KilledRounds {
  /** Rounds in which the change was not made, because the hook before the call was killed. */
  old: number;
  /** Rounds in which the change was made. */
  new: number;
  killed: number;
}

/**
 * A client reads and overwrites a file. Each round kills the hook process that runs before the
 * overwrite, or the one after it, at another moment. If the first hook was killed, the client fails
 * open in every second of these rounds: it makes the change without an answer. Afterwards the file
 * must be old or new, and the journal must say which.
 */
export async function killHooks(
  places: Scratch,
  rounds: number,
  client: Replayed | 'generic' = 'generic',
): Promise<KilledRounds> {
  const agent = new Hooked(places);
  const file = join(places.root, 'a.txt');
  const seen: KilledRounds = { old: 0, new: 0, killed: 0 };
  writeFileSync(file, 'start\n');
  const began = performance.now();
  const read = { event: 'before', action: 'read', input: { path: 'a.txt' } };
  await hookProcess(places, { client: 'generic', event: read }, 60_000);
  const usualMs = performance.now() - began;
  let since = 0;
  for (let round = 0; round < rounds; round += 1) {
    const [before, after] = [readFileSync(file, 'utf8'), `round ${round}\n`];
    await agent.read('a.txt', before);
    const afterMs = usualMs * (0.4 + (0.8 * Math.floor(round / 4)) / (rounds / 4));
    const [killsFirst, failsOpen] = [round % 2 === 0, round % 4 === 2];
    const how = round % 3 === 0 ? 'shell' : 'write';
    const call = { client, how, call: `call-${round}`, before, content: after, root: places.root } as const;
    const asked = await hookProcess(places, eventOf('before', call), killsFirst ? afterMs : 60_000);
    if (asked.killed ? failsOpen : !asked.stdout.includes('"deny"')) {
      writeFileSync(file, after);
      const told = await hookProcess(places, eventOf('after', call), killsFirst ? 60_000 : afterMs);
      seen.killed += told.killed ? 1 : 0;
    }
    seen.killed += asked.killed ? 1 : 0;
    await agent.prompt('next');
    const now = readFileSync(file, 'utf8');
    expect([before, after]).toContain(now);
    seen[now === after ? 'new' : 'old'] += 1;
    // Gemini sends no call ids. Its entry is recognised because it is newer than the last round's
    // entries.
    const named = client === 'gemini' ? undefined : call.call;
    since = await checkJournal(places, { call: named, isNew: now === after, before, since });
  }
  expect(await lookfirst(places, ['log', '--verify'])).toMatchObject({ code: 0 });
  return seen;
}

interface Overwrite {
  readonly client: Replayed | 'generic';
  readonly how: 'shell' | 'write';
  readonly call: string;
  readonly before: string;
  readonly content: string;
  readonly root: string;
}

/** The before-event or after-event of a call that overwrites `a.txt`, in the client's format. */
function eventOf(
  kind: 'before' | 'after',
  { client, how, call, before, content, root }: Overwrite,
): HookEvent {
  if (client !== 'generic') {
    const path = client === 'codex' || how === 'shell' ? 'a.txt' : join(root, 'a.txt');
    const common = { kind, session: 's', cwd: root, call, response: kind === 'after' ? '' : undefined };
    return { client, event: overwriteEvent(client, { ...common, how, path, before, content }) };
  }
  const command = `printf '${content.replace('\n', '\\n')}' > a.txt`;
  const made =
    how === 'shell'
      ? { action: 'run', input: { command }, ...(kind === 'after' ? { output: '' } : {}) }
      : { action: 'write', input: { path: 'a.txt', content } };
  return { client, event: { event: kind, call, ...made } };
}

interface HookEvent {
  readonly client: Replayed | 'generic';
  readonly event: object;
}

/**
 * Checks that the call has one journal entry if the file is new, and none if it is old. The entry
 * is a change, which can be undone, or a note that no hook judged the call. `since`: the number of
 * the last entry before the round. Returns the number of the last entry now.
 */
async function checkJournal(
  places: Scratch,
  { call, isNew, before, since }: { call: string | undefined; isNew: boolean; before: string; since: number },
): Promise<number> {
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  try {
    const { store } = sessions.world;
    expect(await store.pending()).toEqual([]);
    const entries = await store.entries({ session: 's', kinds: ['change', 'unjudged'], limit: 20 });
    const isOfRound = (entry: Entry): boolean =>
      call === undefined ? entry.seq > since : 'call' in entry && entry.call === call;
    const [named, ...more] = entries.filter(isOfRound);
    expect([named !== undefined, more]).toEqual([isNew, []]);
    const head = async (): Promise<number> => (await store.state()).head.seq;
    if (named?.kind !== 'change' || named.change === undefined) return await head();
    const session = await sessions.session('s');
    const file = join(places.root, 'a.txt');
    const after = readFileSync(file, 'utf8');
    expect(await session.undo({ change: named.change })).toMatchObject({ ok: true });
    expect(readFileSync(file, 'utf8')).toBe(before);
    writeFileSync(file, after);
    return await head();
  } finally {
    await sessions.close();
  }
}

/** Sends one event to a new hook process, which is killed after `killAfterMs`. */
function hookProcess(
  places: Scratch,
  { client, event }: HookEvent,
  killAfterMs: number,
): Promise<{ readonly killed: boolean; readonly stdout: string }> {
  const [program = '', ...first] = PROGRAM;
  // With a named store, the hook process starts no background process.
  const env = environment(places, { LOOKFIRST_STORE: `sqlite:${join(places.home, 'lookfirst.db')}` });
  return new Promise((resolve) => {
    const child = spawn(program, [...first, 'hook', client], { cwd: places.root, env });
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
