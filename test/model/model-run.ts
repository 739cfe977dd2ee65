import { existsSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome, Refusal } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { openSession } from '../../src/session/sessions.ts';
import { ReferenceSession, same as unchanged } from './reference.ts';

const FILES = ['a.txt', 'dir/b.txt', 'c.md'];
const SESSIONS = ['first', 'second'];

export interface ModelRun {
  readonly root: string;
  readonly home: string;
  readonly seed: number;
  readonly operations: number;
}

/** The result of a run. Each rule that was broken is described in a sentence. */
export interface ModelReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly broken: readonly string[];
}

/**
 * Runs random operations of sessions and outside programs. Compares every verdict with that of
 * `ReferenceSession`.
 */
export async function runModel(run: ModelRun): Promise<ModelReport> {
  const model = new Model(run);
  await model.open();
  try {
    for (let step = 0; step < run.operations; step += 1) await model.step();
  } finally {
    await model.close();
  }
  return { counts: model.counts, broken: model.broken };
}

class Model {
  readonly counts: Record<string, number> = {};
  readonly broken: string[] = [];
  readonly #run: ModelRun;
  readonly #random: () => number;
  readonly #sessions = new Map<string, GatedSession>();
  readonly #references = new Map<string, ReferenceSession>();
  #serial = 0;

  constructor(run: ModelRun) {
    this.#run = run;
    this.#random = randomOf(run.seed);
  }

  async open(): Promise<void> {
    for (const name of SESSIONS) {
      this.#sessions.set(name, await this.#openSession(name));
      this.#references.set(name, new ReferenceSession());
    }
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await session.close();
  }

  async step(): Promise<void> {
    const name = this.#pick(SESSIONS);
    const file = this.#pick(FILES);
    const roll = this.#random();
    if (roll < 0.22) await this.#read(name, file);
    else if (roll < 0.42) await this.#write(name, file);
    else if (roll < 0.64) await this.#edit(name, file);
    else if (roll < 0.69) await this.#undo(name);
    else if (roll < 0.72) await this.#compact(name);
    else if (roll < 0.74) await this.#restart(name);
    else this.#outside(file);
    this.#reference(name).remember();
  }

  #openSession(name: string): Promise<GatedSession> {
    const { root, home } = this.#run;
    return openSession({
      roots: [root],
      home,
      session: name,
      policy: { durability: 'none', placeholders: 'allow' },
    });
  }

  async #read(name: string, file: string): Promise<void> {
    const content = this.#content(file);
    const partial = content !== undefined && content.length > 3 && this.#random() < 0.4;
    const offset = partial ? 1 + Math.floor(this.#random() * content.length) : 1;
    const limit = partial ? 1 + Math.floor(this.#random() * 4) : 5000;
    const outcome = await this.#session(name).read(file, { offset, limit });
    this.#count('read');
    if (content === undefined) {
      this.#expect(!outcome.ok, `${name} read ${file}, which is not there`);
      return;
    }
    if (!outcome.ok) {
      this.#fail(`${name} could not read ${file}: ${outcome.refusal.code}`);
      return;
    }
    this.#reference(name).shown(file, content, content.slice(offset - 1, offset - 1 + limit));
    const known = this.#reference(name).knowledge(file);
    const whole = content.every((line) => known.seen.has(line));
    this.#expect(
      outcome.complete === whole,
      `complete of ${file} is ${outcome.complete}, the reference says ${whole}`,
    );
  }

  async #write(name: string, file: string): Promise<void> {
    const reference = this.#reference(name);
    const known = reference.known.get(file);
    const repeat = known?.refused !== undefined && this.#random() < 0.5;
    const lines = repeat ? linesOf(known.refused ?? '') : this.#newLines();
    const text = textOf(lines);
    const before = this.#content(file);
    const may = reference.mayOverwrite(file, before, text);
    const outcome = await this.#session(name).write(file, text);
    this.#count(outcome.ok ? 'write' : `write ${outcome.refusal.code}`);
    if (outcome.ok !== may && !reference.cameBack(file, before)) {
      this.#fail(this.#told('write', { name, file, may, outcome }));
      return;
    }
    if (outcome.ok) {
      this.#expect(this.#text(file) === text, `${file} does not hold what ${name} wrote`);
      reference.wrote(file, lines);
      return;
    }
    this.#expect(this.#text(file) === textOf(before ?? []), `a refused write changed ${file}`);
    this.#learn(name, file, { refusal: outcome.refusal, refused: text, current: before ?? [] });
  }

  async #edit(name: string, file: string): Promise<void> {
    const current = this.#content(file);
    if (current === undefined || current.length === 0) return;
    const reference = this.#reference(name);
    let known = reference.known.get(file);
    const from =
      known?.base !== undefined && known.base.length > 0 && this.#random() < 0.5 ? known.base : current;
    const line = this.#pick(from);
    const next = this.#newLine();
    const may = reference.mayEdit(file, current, line) && current.includes(line);
    const outcome = await this.#session(name).edit(file, [
      { oldString: `${line}\n`, newString: `${next}\n` },
    ]);
    this.#count(outcome.ok ? 'edit' : `edit ${outcome.refusal.code}`);
    const cameBack = reference.cameBack(file, current);
    if (outcome.ok && cameBack) {
      reference.wrote(file, current);
      known = reference.knowledge(file);
    }
    if (outcome.ok !== may && !cameBack) {
      this.#fail(this.#told(`edit of ${line}`, { name, file, may, outcome }));
      return;
    }
    if (!outcome.ok) {
      this.#learn(name, file, { refusal: outcome.refusal, current });
      return;
    }
    const after = current.map((each) => (each === line ? next : each));
    this.#expect(this.#text(file) === textOf(after), `${file} is not ${name}'s edit of what was there`);
    const seen = new Set([...(known?.seen ?? [])].filter((each) => current.includes(each) && each !== line));
    for (const notice of outcome.notices) {
      if (notice.kind !== 'changed-elsewhere') continue;
      for (const each of linesShown(notice.diff)) if (after.includes(each)) seen.add(each);
    }
    const carried = !unchanged(known?.base, current);
    const wasWhole =
      current.every((each) => each === line || seen.has(each)) &&
      (known?.seen.has(line) ?? false) &&
      (carried || known?.partial !== true);
    // Before its edit, the session had seen every line of the file. So the reference records that
    // the session has seen this old text as a whole.
    if (wasWhole) reference.sawWhole(file, current);
    if (seen.size > 0 || (known?.seen.size ?? 0) > 0) seen.add(next);
    reference.known.set(file, { base: after, seen, refused: undefined, partial: !wasWhole });
    const whole = wasWhole;
    this.#expect(
      (outcome.revision !== undefined) === whole,
      `revision after an edit of ${file}: the reference says ${whole}`,
    );
  }

  /**
   * Undoes the last change of a session. A refused undo must change nothing. After an undo, a file
   * may count as seen whole only if the session had seen the restored content before.
   */
  async #undo(name: string): Promise<void> {
    const before = FILES.map((file) => this.#text(file));
    const outcome = await this.#session(name).undo({});
    this.#count(outcome.ok ? 'undo' : `undo ${outcome.refusal.code}`);
    if (!outcome.ok)
      return this.#expect(
        same(
          before,
          FILES.map((file) => this.#text(file)),
        ),
        'a refused undo changed something',
      );
    for (const { path } of outcome.files) {
      if (!FILES.includes(path)) continue;
      const content = this.#content(path);
      const reference = this.#reference(name);
      if (content === undefined) reference.known.delete(path);
      else {
        const whole = await this.#knowsWhole(name, path);
        if (whole) this.#count('undo to what was seen');
        this.#expect(
          !whole || reference.hadSeen(path, content),
          `after an undo ${name} knows ${path} without having seen it`,
        );
        const seen = new Set(whole ? content : []);
        reference.known.set(path, { base: content, seen, refused: undefined, partial: false });
      }
    }
  }

  async #knowsWhole(name: string, file: string): Promise<boolean> {
    const status = await this.#session(name).status(file);
    return status.ok && status.files[0]?.seen === 'whole';
  }

  async #compact(name: string): Promise<void> {
    await this.#session(name).compacted();
    this.#reference(name).compacted();
    this.#count('compact');
  }

  async #restart(name: string): Promise<void> {
    await this.#session(name).close();
    this.#sessions.set(name, await this.#openSession(name));
    this.#count('restart');
  }

  #outside(file: string): void {
    const path = join(this.#run.root, file);
    const content = this.#content(file);
    const roll = this.#random();
    if (content === undefined) {
      this.#put(file, this.#newLines());
      return;
    }
    if (roll < 0.3) {
      utimesSync(path, new Date(), new Date(Date.now() + Math.floor(this.#random() * 1e5)));
      this.#count('touch');
      return;
    }
    if (roll < 0.4) {
      rmSync(path);
      this.#count('outside delete');
      return;
    }
    if (roll < 0.55) {
      writeFileSync(`${path}.new`, textOf(content));
      renameSync(`${path}.new`, path);
      this.#count('same bytes renamed over');
      return;
    }
    const changed = [...content];
    const at = Math.floor(this.#random() * (changed.length + 1));
    if (roll < 0.75 || changed.length === 0) changed.splice(at, 0, this.#newLine());
    else if (roll < 0.9) changed.splice(Math.min(at, changed.length - 1), 1, this.#newLine());
    else changed.splice(Math.min(at, changed.length - 1), 1);
    this.#put(file, changed);
  }

  #put(file: string, lines: readonly string[]): void {
    writeFileSync(join(this.#run.root, file), textOf(lines));
    this.#count('outside edit');
  }

  /** Adds to the model the lines that the diff of a STALE refusal has shown to the session. */
  #learn(
    name: string,
    file: string,
    told: { refusal: Refusal; current: readonly string[]; refused?: string },
  ): void {
    const { refusal, current, refused } = told;
    if (refusal.code !== 'STALE' || refusal.detail?.diff === undefined) return;
    const known = this.#reference(name).knowledge(file);
    const shown = linesShown(refusal.detail.diff);
    const seen = new Set([...known.seen].filter((line) => current.includes(line)));
    for (const line of shown) if (current.includes(line)) seen.add(line);
    // A session that has seen no line knows the file only if it is empty.
    if (seen.size === 0 && current.length > 0) return;
    this.#reference(name).known.set(file, { base: [...current], seen, refused, partial: false });
  }

  #told(
    what: string,
    { name, file, may, outcome }: { name: string; file: string; may: boolean; outcome: Outcome<unknown> },
  ): string {
    const got = outcome.ok
      ? 'went through'
      : `was refused as ${outcome.refusal.code} (${JSON.stringify(outcome.refusal.detail)})`;
    const known = this.#reference(name).known.get(file);
    return `${what} of ${file} by ${name} ${got}, the reference says ${may ? 'allow' : 'refuse'}: knows ${JSON.stringify(known?.base)} seen ${JSON.stringify([...(known?.seen ?? [])])}`;
  }

  #content(file: string): string[] | undefined {
    const path = join(this.#run.root, file);
    return existsSync(path) ? linesOf(readFileSync(path, 'utf8')) : undefined;
  }

  #text(file: string): string {
    return textOf(this.#content(file) ?? []);
  }

  #newLines(): string[] {
    return Array.from({ length: Math.floor(this.#random() * 12) }, () => this.#newLine());
  }

  #newLine(): string {
    this.#serial += 1;
    return `line-${this.#serial}`;
  }

  #pick<T>(from: readonly T[]): T {
    const picked = from[Math.floor(this.#random() * from.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  #session(name: string): GatedSession {
    const session = this.#sessions.get(name);
    if (session === undefined) throw new Error(`no session ${name}`);
    return session;
  }

  #reference(name: string): ReferenceSession {
    const reference = this.#references.get(name);
    if (reference === undefined) throw new Error(`no session ${name}`);
    return reference;
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  #expect(holds: boolean, sentence: string): void {
    if (!holds) this.#fail(sentence);
  }

  #fail(sentence: string): void {
    this.broken.push(`seed ${this.#run.seed}: ${sentence}`);
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function linesShown(diff: string): string[] {
  return diff
    .split('\n')
    .filter((row) => row.startsWith('+') || row.startsWith(' '))
    .map((row) => row.slice(1));
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each, index) => each === b[index]);
}

/** A small generator with a seed, so that a failure can be repeated. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
