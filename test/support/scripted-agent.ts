import { setTimeout } from 'node:timers/promises';
import type { Notice } from '../../src/model/results.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { random } from './random.ts';

export const AGENTS = 4;
export const FILES = 5;
export const EDITS = 200;
const FUNCTIONS = 8;
const EDITS_OF_A_TURN = 10;

/** Counts of one agent's events. */
export interface Counts {
  stale: number;
  edits: number;
  /** Turns that the agent ended before its first edit, because another session worked on the file. */
  putAside: number;
  /** `agent turn path` of each notice that another session works on the file. */
  readonly notices: string[];
}

/** A task: to add one line to one function of one file. */
export interface Task {
  readonly file: string;
  readonly fn: number;
  readonly mark: string;
}

/** A file of functions, which every agent changes. */
export function functions(): string {
  return Array.from({ length: FUNCTIONS }, (_, n) => `function f${n}() {\n  // begin ${n}\n}\n\n`).join('');
}

/**
 * The tasks of an agent, one file per turn. All agents have the files in the same order. Half of
 * the edits change the first function of a file, so that the agents' edits collide.
 */
export function workOf(agent: number): readonly (readonly Task[])[] {
  const turns = EDITS / AGENTS / EDITS_OF_A_TURN;
  return Array.from({ length: turns }, (_, turn) =>
    Array.from({ length: EDITS_OF_A_TURN }, (_unused, n): Task => {
      const fn = n % 2 === 0 ? 0 : 1 + ((agent + n) % (FUNCTIONS - 1));
      return { file: `f${turn % FILES}.ts`, fn, mark: `${agent}-${turn}-${n}` };
    }),
  );
}

/**
 * An agent that pauses before each call, reads a file at the beginning of its turn and then edits
 * its functions from memory. It obeys notices as a sensible agent would:
 * - At the beginning of a turn, it chooses work in a file that no other session works on.
 * - If a notice before its first edit says that another session works on the file, it ends the turn
 * and comes back to the file later.
 * - If such a notice comes after its first edit, it reads the file again right before each further
 * edit.
 */
export class ScriptedAgent {
  readonly counts: Counts = { stale: 0, edits: 0, putAside: 0, notices: [] };
  readonly #session: GatedSession;
  readonly #think: () => Promise<void>;
  readonly #waiting: (readonly Task[])[];
  #turn = 0;

  constructor(session: GatedSession, { agent, thinkMs }: { agent: number; thinkMs: number }) {
    this.#session = session;
    this.#waiting = [...workOf(agent)];
    const { roll } = random(100 + agent);
    this.#think = () => setTimeout(thinkMs / 2 + roll(thinkMs));
  }

  async work(): Promise<Counts> {
    while (this.#waiting.length > 0) {
      this.#turn += 1;
      await this.#session.beginTurn({ turn: `t${this.#turn}` });
      const claimed = await this.#claimedFiles();
      await this.#think();
      const at = this.#waiting.findIndex(([task]) => task !== undefined && !claimed.has(task.file));
      const [tasks] = at === -1 ? [] : this.#waiting.splice(at, 1);
      if (tasks !== undefined && (await this.#turnOn(tasks)) === 'put aside') {
        this.counts.putAside += 1;
        this.#waiting.push(tasks);
      }
      await this.#session.endTurn();
    }
    return this.counts;
  }

  /**
   * The files that other sessions work on, according to the notice that hooks add to each prompt.
   */
  async #claimedFiles(): Promise<ReadonlySet<string>> {
    const notice = await this.#session.othersAtWork();
    const claims = notice?.kind === 'others-at-work' ? notice.claims : [];
    const paths = new Set(claims.map(({ path }) => path));
    for (const path of paths) this.counts.notices.push(`${this.#session.id} ${this.#turn} ${path}`);
    return paths;
  }

  async #turnOn(tasks: readonly Task[]): Promise<'done' | 'put aside'> {
    const desk: Desk = { text: '', told: false };
    await this.#read(desk, tasks[0]?.file ?? '');
    for (const [n, task] of tasks.entries())
      while (!(await this.#edited(desk, task))) if (desk.told && n === 0) return 'put aside';
    return 'done';
  }

  /**
   * False if the edit was refused. Also false if it was not tried, because it is the first of the
   * turn and a notice says that another session works on the file.
   */
  async #edited(desk: Desk, { file, fn, mark }: Task): Promise<boolean> {
    if (desk.told && mark.endsWith('-0')) return false;
    if (desk.told) await this.#read(desk, file);
    const oldString = new RegExp(`function f${fn}\\(\\) \\{\\n[^}]*\\}\\n`).exec(desk.text)?.[0] ?? '';
    const newString = oldString.replace('}\n', `  // ${mark}\n}\n`);
    await this.#think();
    const done = await this.#session.edit(file, [{ oldString, newString }]);
    if (done.ok) {
      desk.text = desk.text.replace(oldString, newString);
      this.#note(desk, file, done.notices);
      // The notice shows other sessions' changes as a diff. Reading the file gives the same text,
      // without applying the diff.
      if (done.notices.some(({ kind }) => kind === 'changed-elsewhere')) await this.#look(desk, file);
      this.counts.edits += 1;
      return true;
    }
    if (done.refusal.code !== 'STALE') throw new Error(JSON.stringify(done.refusal));
    this.counts.stale += 1;
    await this.#read(desk, file);
    return false;
  }

  async #read(desk: Desk, file: string): Promise<void> {
    await this.#think();
    await this.#look(desk, file);
  }

  async #look(desk: Desk, file: string): Promise<void> {
    const { text, notices = [] } = succeeded(await this.#session.read(file));
    desk.text = text;
    this.#note(desk, file, notices);
  }

  #note(desk: Desk, file: string, notices: readonly Notice[]): void {
    const { id } = this.#session;
    for (const notice of notices) {
      if (!('claims' in notice) || notice.claims === undefined) continue;
      desk.told = true;
      this.counts.notices.push(`${id} ${this.#turn} ${'path' in notice ? notice.path : file}`);
      if (notice.claims.some(({ session }) => session === id))
        throw new Error(`${id} was told of its own work`);
    }
  }
}

/** One turn of an agent, with the text of its file as the agent knows it. */
interface Desk {
  text: string;
  /** True if a notice in this turn said that another session works on the file. */
  told: boolean;
}

function succeeded<T>(outcome: Outcome<T>): { ok: true } & T {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return outcome;
}
