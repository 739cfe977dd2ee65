import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Edit } from '../../src/model/intent.ts';
import type { Outcome, Refusal } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { diffLines, type Hunk } from '../../src/text/diff.ts';
import { splitLines } from '../../src/text/lines.ts';

/** The rules that judge the same events. The last three are rules that other tools use, in a few lines each. */
export const RULES = ['Lookfirst', 'whole-file hash', 'mtime', 'read set'] as const;
type Rule = (typeof RULES)[number];

interface RuleTally {
  /** Changes built on outdated bytes that the rule lets pass. */
  missed: number;
  /** Harmless changes that the rule refuses. */
  wrong: number;
}

export interface ReplayTally {
  commits: number;
  /** Changes that must pass (`must`), must be refused (`mustNot`), or may pass or be refused (`either`). */
  must: number;
  mustNot: number;
  either: number;
  readonly rules: Readonly<Record<Rule, RuleTally>>;
  readonly codes: Record<string, number>;
  /**
   * `shownBytes`: the size of the diffs in STALE refusals. `rereadBytes`: the size of the reads
   * that would have shown the files instead.
   */
  shownBytes: number;
  rereadBytes: number;
  /** Paths whose bytes differ from git's at the end. */
  differing: string[];
  /** The gate's wrong verdicts: commit, path and code, for inspection. */
  readonly mistakes: string[];
}

interface View {
  readonly text: string;
  /** The file's modification time when the agent saw it. */
  readonly mtimeMs: number;
}

interface FileChange {
  readonly status: string;
  readonly path: string;
  readonly mode: string;
}

export interface Replay {
  readonly repository: string;
  readonly root: string;
  readonly session: GatedSession;
  readonly commits: number;
  /** The last commit of the replay. */
  readonly until: string;
  readonly random: () => number;
}

/** The agent makes commits with at most this many files. Larger ones, such as renamings, are left to other programs. */
const MAX_FILES = 30;
const RECEIPT_BYTES = 60;
/** Up to this number of hunks of a file are made as edits; more hunks are made as one whole write. */
const MAX_HUNKS = 12;

/**
 * Replays a repository's history. The agent makes most commits through the gate, based on its last
 * view of the files. Other programs make the rest without the agent's knowledge. Compares the
 * verdict of each rule with the right one.
 */
export async function replayHistory(replay: Replay): Promise<ReplayTally> {
  const run = new Run(replay);
  const hashes = run
    .git('log', '--first-parent', '--reverse', '--format=%H', replay.until)
    .trim()
    .split('\n');
  const start = Math.max(1, hashes.length - replay.commits);
  run.checkOut(hashes[start - 1] ?? '');
  for (const hash of hashes.slice(start)) await run.commit(hash);
  run.compare(hashes.at(-1) ?? '');
  return run.tally;
}

class Run {
  readonly #replay: Replay;
  readonly #views = new Map<string, View>();
  /** Every text of a file that the agent has seen whole. */
  readonly #earlier = new Set<string>();
  #commit = '';
  readonly tally: ReplayTally = {
    commits: 0,
    must: 0,
    mustNot: 0,
    either: 0,
    rules: {
      Lookfirst: { missed: 0, wrong: 0 },
      'whole-file hash': { missed: 0, wrong: 0 },
      mtime: { missed: 0, wrong: 0 },
      'read set': { missed: 0, wrong: 0 },
    },
    codes: {},
    shownBytes: 0,
    rereadBytes: 0,
    differing: [],
    mistakes: [],
  };

  constructor(replay: Replay) {
    this.#replay = replay;
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.#replay.repository, encoding: 'utf8', maxBuffer: 1 << 29 });
  }

  checkOut(hash: string): void {
    const archive = execFileSync('git', ['archive', hash], {
      cwd: this.#replay.repository,
      maxBuffer: 1 << 29,
    });
    execFileSync('tar', ['x', '-C', this.#replay.root], { input: archive });
  }

  /** Adds to the tally the paths below the root that differ from a commit. */
  compare(hash: string): void {
    const lines = this.git('ls-tree', '-r', hash).trim().split('\n');
    const files = lines.filter((line) => line.startsWith('100')).map((line) => line.split(/[ \t]/));
    const blobs = this.#blobs(files.map(([, , blob = '']) => blob));
    for (const [, , blob = '', path = ''] of files)
      if (blobs.get(blob)?.equals(this.#live(path) ?? Buffer.alloc(0)) !== true)
        this.tally.differing.push(path);
  }

  async commit(hash: string): Promise<void> {
    this.tally.commits += 1;
    this.#commit = hash;
    const isOutside = this.#replay.random() < 0.35;
    const raw = this.git('diff-tree', '-r', '--no-renames', '-z', `${hash}^`, hash).split('\0');
    const changes: (FileChange & { readonly blob: string })[] = [];
    for (let at = 0; at + 1 < raw.length; at += 2) {
      const [, mode = '', , blob = '', status = ''] = (raw[at] ?? '').split(' ');
      changes.push({ status, path: raw[at + 1] ?? '', mode, blob });
    }
    // Make deletions first, because a folder may become a file.
    changes.sort((a, b) => Number(b.status === 'D') - Number(a.status === 'D'));
    const blobs = this.#blobs(changes.filter(({ status }) => status !== 'D').map(({ blob }) => blob));
    for (const [index, change] of changes.entries()) {
      const bytes = change.status === 'D' ? undefined : blobs.get(change.blob);
      const isAgent = !isOutside && index < MAX_FILES && isAgentWork(change, bytes);
      if (!isAgent) this.#outside(change, bytes);
      else if (bytes === undefined) await this.#delete(change);
      else await this.#write(change, bytes.toString('utf8'));
      this.#noise(change);
    }
  }

  /** Another program makes the change: an editor, or an archive program that sets older times. */
  #outside({ path, mode, status }: FileChange, bytes: Buffer | undefined): void {
    const file = join(this.#replay.root, path);
    if (status === 'D' || bytes === undefined || !mode.startsWith('100')) {
      rmSync(file, { force: true });
      return;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
    chmodSync(file, mode === '100755' ? 0o755 : 0o644);
    const seen = this.#views.get(path);
    if (seen !== undefined && this.#replay.random() < 0.1)
      utimesSync(file, seen.mtimeMs / 1000, seen.mtimeMs / 1000);
  }

  /**
   * Another program may change the file before the agent does. It makes a part of the agent's
   * change, or changes the same lines.
   */
  #meanwhile(path: string, live: string, next: string): void {
    const file = join(this.#replay.root, path);
    const { mtimeMs } = statSync(file);
    const { hunks } = diffLines(live, next);
    const [first] = hunks;
    const [was, is] = [splitLines(live), splitLines(next)];
    if (first === undefined) return;
    if (hunks.length > 1) {
      const rest = was.slice(first.beforeEnd);
      const come = is.slice(first.afterStart, first.afterEnd);
      writeFileSync(file, [...was.slice(0, first.beforeStart), ...come, ...rest].join(''));
    } else if (first.beforeEnd > first.beforeStart && this.#replay.random() < 0.5) {
      const changed = `${(was[first.beforeStart] ?? '').replace(/\r?\n$/, '')} (by another program)\n`;
      writeFileSync(file, was.with(first.beforeStart, changed).join(''));
    }
    // Sometimes set the earlier time again, as programs that copy files do.
    if (this.#replay.random() < 0.1) utimesSync(file, mtimeMs / 1000, mtimeMs / 1000);
  }

  /** Sometimes another program writes the same bytes again, which changes only the file's time. */
  #noise({ path }: FileChange): void {
    const bytes = this.#replay.random() < 0.1 ? this.#live(path) : undefined;
    if (bytes !== undefined) writeFileSync(join(this.#replay.root, path), bytes);
  }

  async #delete({ path }: FileChange): Promise<void> {
    const live = this.#text(path);
    if (live === undefined) return;
    await this.#judged(path, { truth: this.#whole(path, live), at: 'whole' }, () =>
      this.#replay.session.delete(path),
    );
    if (this.#live(path) !== undefined) {
      await this.#read(path);
      await this.#judged(path, { truth: 'must', at: 'whole' }, () => this.#replay.session.delete(path));
    }
    // A file that appears at this path later counts as unseen, unless it has the deleted bytes.
    this.#saw(path);
  }

  async #write(change: FileChange, next: string): Promise<void> {
    const { path } = change;
    const live = this.#text(path);
    const { session, random } = this.#replay;
    if (live === undefined || live === '') {
      const outcome = await session.write(path, next);
      if (!outcome.ok) return this.#gaveUp(change, next, outcome.refusal);
      this.#saw(path);
    } else if (live !== next) {
      if (!this.#views.has(path) && random() < 0.8) await this.#read(path);
      if (random() < 0.5) this.#meanwhile(path, live, next);
      const now = this.#text(path) ?? '';
      if (now === next) return;
      const hunks = diffLines(now, next).hunks.length;
      if (hunks > MAX_HUNKS || random() < 0.25) await this.#overwrite(change, now, next);
      else await this.#edit(change, next);
    }
    if (change.mode === '100755') chmodSync(join(this.#replay.root, path), 0o755);
  }

  /** Replaces the whole file. A write from an outdated view must be refused; the agent then reads and retries. */
  async #overwrite(change: FileChange, live: string, next: string): Promise<void> {
    const { path } = change;
    const write = (): Promise<Outcome<object>> => this.#replay.session.write(path, next);
    const first = await this.#judged(path, { truth: this.#whole(path, live), at: 'whole' }, write);
    if (first.ok) return this.#saw(path);
    // Read the file before the retry: without a read, the gate refuses the same content again.
    await this.#recover(path, first.refusal, { live, by: 'read' });
    const again = await this.#judged(path, { truth: 'must', at: 'whole' }, write);
    if (!again.ok) return this.#gaveUp(change, next, again.refusal);
    this.#saw(path);
  }

  /** Makes one edit per hunk. The old text of each edit comes from the text that the agent has seen. */
  async #edit(change: FileChange, next: string): Promise<void> {
    const { path } = change;
    for (let steps = 0; steps <= MAX_HUNKS; steps += 1) {
      const live = this.#text(path) ?? '';
      if (live === next) return;
      const edit = lastHunk(live, next);
      const seen = this.#views.get(path)?.text;
      if (edit === undefined) return this.#overwrite(change, live, next);
      const stale = seen === undefined ? undefined : staleAnchor(seen, live, edit);
      const call = (sent: Edit) => (): Promise<Outcome<object>> => this.#replay.session.edit(path, [sent]);
      const sent = stale ?? edit;
      const truth = seen === undefined ? this.#whole(path, live) : editTruth(seen, live, sent);
      const first = await this.#judged(path, { truth, at: 'place' }, call(sent));
      if (first.ok) {
        await this.#learnt(path, first, live);
        continue;
      }
      await this.#recover(path, first.refusal, { live, by: 'diff' });
      const again = await this.#judged(path, { truth: 'must', at: 'place' }, call(edit));
      if (!again.ok) return this.#gaveUp(change, next, again.refusal);
      await this.#learnt(path, again, live);
    }
    if (this.#text(path) !== next) await this.#overwrite(change, this.#text(path) ?? '', next);
  }

  /** The right verdict on a change of the whole file: it must pass if the agent has seen the present bytes. */
  #whole(path: string, live: string): Truth {
    if (this.#views.get(path)?.text === live) return 'must';
    // If the file has returned to bytes that the session saw whole, the gate may allow or refuse.
    return this.#earlier.has(`${path}\0${live}`) ? 'either' : 'must not';
  }

  /** Makes a change, and counts the verdict of each rule. */
  async #judged(
    path: string,
    { truth, at }: { readonly truth: Truth; readonly at: 'whole' | 'place' },
    change: () => Promise<Outcome<object>>,
  ): Promise<Outcome<object>> {
    const seen = this.#views.get(path);
    const live = this.#text(path);
    const mtimeMs = statSync(join(this.#replay.root, path), { throwIfNoEntry: false })?.mtimeMs;
    const outcome = await change();
    const { tally } = this;
    if (truth === 'either') tally.either += 1;
    else tally[truth === 'must' ? 'must' : 'mustNot'] += 1;
    if (!outcome.ok) tally.codes[outcome.refusal.code] = (tally.codes[outcome.refusal.code] ?? 0) + 1;
    const says: Record<Rule, boolean> = {
      Lookfirst: outcome.ok,
      'whole-file hash': seen?.text === live,
      mtime: seen?.mtimeMs === mtimeMs,
      // This rule checks only that the file was read. But if the old text of an edit is missing,
      // the edit fails under every rule.
      'read set': seen !== undefined && (at === 'whole' || truth !== 'must not'),
    };
    for (const rule of RULES) {
      if (truth === 'must not' && says[rule]) tally.rules[rule].missed += 1;
      if (truth === 'must' && !says[rule]) tally.rules[rule].wrong += 1;
    }
    if (truth !== 'either' && says.Lookfirst !== (truth === 'must'))
      tally.mistakes.push(`${this.#commit} ${path} ${truth} ${outcome.ok ? 'passed' : outcome.refusal.code}`);
    return outcome;
  }

  /** The agent learns what changed from the refusal, or reads the file again. */
  async #recover(
    path: string,
    { code, detail }: Refusal,
    { live, by }: { readonly live: string; readonly by: 'diff' | 'read' },
  ): Promise<void> {
    if (code === 'STALE') {
      this.tally.shownBytes += Buffer.byteLength(detail?.diff ?? '');
      this.tally.rereadBytes += readBytes(live);
    }
    if (code === 'STALE' && by === 'diff' && detail?.revision !== undefined) this.#saw(path);
    else await this.#read(path);
  }

  async #read(path: string): Promise<void> {
    const { session } = this.#replay;
    for (let offset = 1; ; ) {
      const page = await session.read(path, { offset, limit: 100_000 });
      if (!page.ok || page.complete || (page.to ?? 0) < offset) break;
      offset = (page.to ?? 0) + 1;
      if (offset > (page.totalLines ?? 0)) break;
    }
    this.#saw(path);
  }

  /**
   * Records that the agent knows the file as it is now, and as it was before the edit (`before`).
   * If a notice shows only a part of what changed, the agent reads the file instead.
   */
  async #learnt(path: string, result: object, before: string): Promise<void> {
    const notices = 'notices' in result && Array.isArray(result.notices) ? result.notices : [];
    const isCut = notices.some((notice: { truncated?: boolean }) => notice.truncated === true);
    if (isCut) return this.#read(path);
    this.#earlier.add(`${path}\0${before}`);
    this.#saw(path);
  }

  /** Notes that the agent knows the file as it is now. */
  #saw(path: string): void {
    const text = this.#text(path);
    if (text === undefined) this.#views.delete(path);
    else {
      this.#earlier.add(`${path}\0${text}`);
      this.#views.set(path, { text, mtimeMs: statSync(join(this.#replay.root, path)).mtimeMs });
    }
  }

  /**
   * Counts a refusal of the content itself (such as a placeholder) by its code. Then makes the
   * change as another program would.
   */
  #gaveUp(change: FileChange, next: string, { code }: Refusal): void {
    this.tally.codes[`${code} (content)`] = (this.tally.codes[`${code} (content)`] ?? 0) + 1;
    this.#outside(change, Buffer.from(next));
  }

  #text(path: string): string | undefined {
    return this.#live(path)?.toString('utf8');
  }

  #live(path: string): Buffer | undefined {
    const file = join(this.#replay.root, path);
    return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(file) : undefined;
  }

  /** The contents of blobs by their hash. */
  #blobs(hashes: readonly string[]): ReadonlyMap<string, Buffer> {
    const input = `${hashes.join('\n')}\n`;
    const options = { cwd: this.#replay.repository, input, maxBuffer: 1 << 29 };
    const found = new Map<string, Buffer>();
    if (hashes.length === 0) return found;
    const answer = execFileSync('git', ['cat-file', '--batch'], options);
    for (let at = 0; at < answer.length; ) {
      const line = answer.indexOf(10, at);
      const [hash = '', , size] = answer.toString('latin1', at, line).split(' ');
      found.set(hash, answer.subarray(line + 1, line + 1 + Number(size)));
      at = line + 2 + Number(size);
    }
    return found;
  }
}

type Truth = 'must' | 'must not' | 'either';

function isAgentWork({ mode, status }: FileChange, bytes: Buffer | undefined): boolean {
  if (status === 'D') return true;
  return mode.startsWith('100') && bytes?.equals(Buffer.from(bytes.toString('utf8'))) === true;
}

/** The last hunk as an edit, with enough lines around it to be unique; undefined if 40 are not enough. */
function lastHunk(before: string, after: string): Edit | undefined {
  const hunk = diffLines(before, after).hunks.at(-1);
  if (hunk === undefined) return undefined;
  const [was, is] = [splitLines(before), splitLines(after)];
  const come = is.slice(hunk.afterStart, hunk.afterEnd);
  for (let context = 1; context <= 40; context += 1) {
    const head = was.slice(Math.max(0, hunk.beforeStart - context), hunk.beforeStart);
    const gone = was.slice(hunk.beforeStart, hunk.beforeEnd);
    const tail = was.slice(hunk.beforeEnd, hunk.beforeEnd + context);
    const oldString = [...head, ...gone, ...tail].join('');
    if (countOf(before, oldString) === 1)
      return { oldString, newString: [...head, ...come, ...tail].join('') };
  }
  return undefined;
}

/**
 * The edit that an agent would make from the outdated text `seen`: its old text is what `seen` has
 * at the place of `edit`. Undefined if `seen` contains the old text of `edit`, or if the outdated
 * text is not unique or equals the new text.
 */
function staleAnchor(seen: string, live: string, edit: Edit): Edit | undefined {
  if (countOf(seen, edit.oldString) > 0) return undefined;
  const start = splitLines(live.slice(0, live.indexOf(edit.oldString))).length;
  const end = start + splitLines(edit.oldString).length;
  const { hunks } = diffLines(seen, live);
  const from = seenLine(hunks, start, 'beforeStart');
  const to = seenLine(hunks, end, 'beforeEnd');
  const oldString = splitLines(seen).slice(from, to).join('');
  return countOf(seen, oldString) === 1 && oldString !== edit.newString
    ? { oldString, newString: edit.newString }
    : undefined;
}

/**
 * The line of the seen text that corresponds to a line of the live text. For a line inside a hunk:
 * the start or end of the hunk in the seen text, as `inside` says.
 */
function seenLine(hunks: readonly Hunk[], line: number, inside: 'beforeStart' | 'beforeEnd'): number {
  let shift = 0;
  for (const hunk of hunks) {
    if (line <= hunk.afterStart) break;
    if (line < hunk.afterEnd) return hunk[inside];
    shift = hunk.beforeEnd - hunk.afterEnd;
  }
  return line + shift;
}

/** The right verdict on an edit, by its old text and the lines beside it in `seen` and `live`. */
function editTruth(seen: string, live: string, { oldString }: Edit): Truth {
  if (countOf(live, oldString) === 0) return 'must not';
  if (countOf(seen, oldString) !== 1 || countOf(live, oldString) !== 1) return 'either';
  const [then, now] = [neighbours(seen, oldString), neighbours(live, oldString)];
  return then.before === now.before || then.after === now.after ? 'must' : 'either';
}

function neighbours(text: string, part: string): { readonly before: string; readonly after: string } {
  const at = text.indexOf(part);
  const [before = '', after = ''] = [
    splitLines(text.slice(0, at)).at(-1),
    splitLines(text.slice(at + part.length))[0],
  ];
  return { before, after };
}

/** The size of an answer that shows the whole file: each line with its number, and a receipt. */
function readBytes(text: string): number {
  const numbers = splitLines(text).reduce((sum, _, index) => sum + String(index + 1).length + 1, 0);
  return Buffer.byteLength(text) + numbers + RECEIPT_BYTES;
}

function countOf(text: string, part: string): number {
  return part === '' ? 0 : text.split(part).length - 1;
}

/** A generator of numbers from 0 to below 1. For the same seed, the numbers are the same on every machine. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
