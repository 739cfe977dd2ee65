import type { Notice } from '../../src/model/results.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { random } from '../shared/random.ts';

export const AGENTS = 4;
export const FILES = 5;
export const EDITS = 200;
const FUNCTIONS = 8;
const EDITS_OF_A_TURN = 5;

/** What happened to one agent. */
export interface Counts {
  stale: number;
  edits: number;
  /** `agent turn path` of each notice about a claim. */
  readonly notices: string[];
}

/** One function of one file gets one more line. */
export interface Task {
  readonly file: string;
  readonly fn: number;
  readonly mark: string;
}

/** A file of functions, which every agent changes. */
export function functions(): string {
  return Array.from({ length: FUNCTIONS }, (_, n) => `function f${n}() {\n  // begin ${n}\n}\n\n`).join('');
}

/** The tasks of an agent, by turn. Half of the edits are of the first two functions, which every agent changes. */
export function workOf(agentNumber: number): readonly (readonly Task[])[] {
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

/**
 * An agent that reads a file once and then edits its functions, one call at a time, in turns of a few edits. It obeys notices:
 * it puts a claimed file aside as long as it has other work, and otherwise reads it again right before each edit.
 */
export async function* scriptedAgent(
  session: GatedSession,
  turns: readonly (readonly Task[])[],
  counts: Counts,
): AsyncGenerator<'turn' | undefined> {
  const waiting = [...turns];
  let asideInRow = 0;
  for (let turn = 0; waiting.length > 0; turn++) {
    const tasks = waiting.shift() ?? [];
    await session.beginTurn({ turn: `t${turn}` });
    yield 'turn';
    const desk: Desk = { session, counts, turn, text: '', told: false };
    await read(desk, tasks[0]?.file ?? '');
    yield undefined;
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
  const { text, notices = [] } = succeeded(await desk.session.read(file));
  desk.text = text;
  note(desk, file, notices);
}

async function* edit(desk: Desk, { file, fn, mark }: Task): AsyncGenerator<undefined> {
  const { session, counts } = desk;
  for (;;) {
    if (desk.told) {
      await read(desk, file);
      yield undefined;
    }
    const oldString = new RegExp(`function f${fn}\\(\\) \\{\\n[^}]*\\}\\n`).exec(desk.text)?.[0] ?? '';
    const newString = oldString.replace('}\n', `  // ${mark}\n}\n`);
    const done = await session.edit(file, [{ oldString, newString }]);
    yield undefined;
    if (done.ok) {
      desk.text = desk.text.replace(oldString, newString);
      note(desk, file, done.notices);
      counts.edits += 1;
      return;
    }
    if (!['STALE', 'NO_MATCH'].includes(done.refusal.code)) throw new Error(JSON.stringify(done.refusal));
    counts.stale += 1;
    if (!desk.told) await read(desk, file);
    yield undefined;
  }
}

function note(desk: Desk, file: string, notices: readonly Notice[]): void {
  const { counts, turn } = desk;
  const { id } = desk.session;
  for (const notice of notices) {
    if (!('claims' in notice) || notice.claims === undefined) continue;
    desk.told = true;
    const path = 'path' in notice ? notice.path : file;
    counts.notices.push(`${id} ${turn} ${path}`);
    if (notice.claims.some(({ session }) => session === id))
      throw new Error(`${id} was told of its own work`);
  }
}

function succeeded<T>(outcome: Outcome<T>): { ok: true } & T {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return outcome;
}
