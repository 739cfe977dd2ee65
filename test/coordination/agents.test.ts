import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { Notice } from '../../src/model/results.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { random } from '../shared/random.ts';
import { ok } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

const AGENTS = 4;
const FILES = 5;
const FUNCTIONS = 8;
const EDITS_OF_A_TURN = 5;
const EDITS = 200;

interface Counts {
  stale: number;
  edits: number;
  readonly notices: string[];
}

/** One function of one file gets one more line. */
interface Task {
  readonly file: string;
  readonly fn: number;
  readonly mark: string;
}

function source(): string {
  return Array.from({ length: FUNCTIONS }, (_, n) => `function f${n}() {\n  // begin ${n}\n}\n\n`).join('');
}

/**
 * An agent that reads a file once and then edits its functions, one call at a time, in turns of a few edits. It obeys notices:
 * it puts a claimed file aside as long as it has other work, and otherwise reads it again right before each edit.
 */
async function* agent(
  session: GatedSession,
  turns: readonly (readonly Task[])[],
  counts: Counts,
): AsyncGenerator<void> {
  const waiting = [...turns];
  let asideInRow = 0;
  for (let turn = 0; waiting.length > 0; turn++) {
    const tasks = waiting.shift() ?? [];
    await session.beginTurn({ turn: `t${turn}` });
    const desk: Desk = { session, counts, turn, text: '', told: false };
    await read(desk, tasks[0]?.file ?? '');
    yield;
    if (desk.told && asideInRow < waiting.length) {
      waiting.push(tasks);
      asideInRow += 1;
      continue;
    }
    asideInRow = 0;
    for (const task of tasks) yield* edit(desk, task);
    await session.endTurn();
  }
}

/** One turn of an agent, with the text of its file as it knows it. */
interface Desk {
  readonly session: GatedSession;
  readonly counts: Counts;
  readonly turn: number;
  text: string;
  /** It got a notice in this turn. */
  told: boolean;
}

async function read(desk: Desk, file: string): Promise<void> {
  const { text, notices = [] } = await ok(desk.session.read(file));
  desk.text = text;
  note(desk, notices);
}

async function* edit(desk: Desk, { file, fn, mark }: Task): AsyncGenerator<void> {
  const { session, counts } = desk;
  for (;;) {
    if (desk.told) {
      await read(desk, file);
      yield;
    }
    const oldString = new RegExp(`function f${fn}\\(\\) \\{\\n[^}]*\\}\\n`).exec(desk.text)?.[0] ?? '';
    const newString = oldString.replace('}\n', `  // ${mark}\n}\n`);
    const done = await session.edit(file, [{ oldString, newString }]);
    yield;
    if (done.ok) {
      desk.text = desk.text.replace(oldString, newString);
      note(desk, done.notices);
      counts.edits += 1;
      return;
    }
    expect(['STALE', 'NO_MATCH'], JSON.stringify(done.refusal)).toContain(done.refusal.code);
    counts.stale += 1;
    if (!desk.told) await read(desk, file);
    yield;
  }
}

function note(desk: Desk, notices: readonly Notice[]): void {
  const { counts, turn } = desk;
  const { id } = desk.session;
  for (const notice of notices) {
    if (notice.kind !== 'claimed') continue;
    desk.told = true;
    counts.notices.push(`${id} ${turn} ${notice.path}`);
    expect(notice.claims.map(({ session }) => session)).not.toContain(id);
  }
}

/** Half of the edits are of the first two functions, which every agent changes. */
function workOf(agentNumber: number): readonly (readonly Task[])[] {
  const turns = EDITS / AGENTS / EDITS_OF_A_TURN;
  const { roll } = random(agentNumber);
  return Array.from({ length: turns }, (_, turn) => {
    const file = `f${roll(FILES)}.ts`;
    return Array.from({ length: EDITS_OF_A_TURN }, (_unused, n): Task => {
      const shared = (turn * EDITS_OF_A_TURN + n) % 2 === 0;
      const fn = shared ? n % 2 : 2 + ((agentNumber + n) % (FUNCTIONS - 2));
      return { file, fn, mark: `${agentNumber}-${turn}-${n}` };
    });
  });
}

async function run(claims: 'notice' | 'off'): Promise<Counts> {
  const { root, home } = scratch();
  for (let n = 0; n < FILES; n++) writeFileSync(join(root, `f${n}.ts`), source());
  const counts: Counts = { stale: 0, edits: 0, notices: [] };
  const work = Array.from({ length: AGENTS }, (_, n) => workOf(n));
  const worlds: Sessions[] = [];
  onTestFinished(() => Promise.all(worlds.map((each) => each.close())).then(() => undefined));
  const running: AsyncGenerator<void>[] = [];
  for (const [n, turns] of work.entries()) {
    // A connection of its own for each, as separate processes have.
    const sessions = await Sessions.open({ roots: [root], home, policy: { claims } });
    worlds.push(sessions);
    running.push(agent(await sessions.session(`agent-${n}`), turns, counts));
  }
  const { roll } = random(19);
  while (running.length > 0) {
    const at = roll(running.length);
    if ((await running[at]?.next())?.done === true) running.splice(at, 1);
    await setImmediate();
  }
  const [reader] = worlds;
  const session = await reader?.session('reader');
  let text = '';
  for (let n = 0; n < FILES; n++)
    text += session === undefined ? '' : (await ok(session.read(`f${n}.ts`))).text;
  const lost = work.flat(2).filter(({ mark }) => !text.includes(`// ${mark}\n`));
  expect(lost).toEqual([]);
  expect(counts.edits).toBe(EDITS);
  return counts;
}

it('four agents, 200 edits of five files: nothing is lost, and notices at least halve the STALE refusals', async () => {
  const off = await run('off');
  const notice = await run('notice');
  console.info(
    `STALE: ${off.stale} with claims off, ${notice.stale} with notices; ${notice.notices.length} notices`,
  );
  expect(off.notices).toEqual([]);
  // The control: without claims these agents do collide.
  expect(off.stale).toBeGreaterThan(10);
  expect(notice.stale * 2).toBeLessThanOrEqual(off.stale);
  expect(new Set(notice.notices).size).toBe(notice.notices.length);
}, 120_000);
