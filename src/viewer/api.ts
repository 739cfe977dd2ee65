import { ENTRY_KINDS, type EntryKind } from '../model/entry.ts';
import { type Refusal, reasonOf, refused } from '../model/verdict.ts';
import { stateSize } from '../records/clean-up.ts';
import { rewindJob } from '../records/rewind.ts';
import { type TurnView, turnViews } from '../records/turns.ts';
import {
  couldMerge,
  type TakenBack,
  takeBack,
  takeBackPart,
  type UndoJob,
  undoJobs,
} from '../records/undo-jobs.ts';
import {
  entryView,
  numbers,
  recentFiles,
  sessionRows,
  turnDetail,
  turnRows,
  type ViewSources,
  viewText,
} from '../records/view/entry-views.ts';
import { feedPage, feedRow, fitsFeed } from '../records/view/feed.ts';
import { filePicture } from '../records/view/file-picture.ts';
import { unifiedRows } from '../records/view/hunks.ts';
import type { FeedFilter, FileDiff, LiveView, StartView, UndoView } from '../records/view/view-data.ts';
import { WHY } from '../records/view/view-words.ts';
import { pathText } from '../report/bounded.ts';
import type { Sessions } from '../session/sessions.ts';

/**
 * Maximum number of rows in one answer about the feed, the page's list of journal entries. The
 * answer to the page's first request has up to twice as many.
 */
const PAGE = 200;
/**
 * The maximum number of new rows in one answer. If there are more, the answer says so, and the page
 * loads its whole list again.
 */
const MAX_LIVE = 500;

export interface ApiOptions {
  readonly sources: ViewSources;
  /** The folders whose records are shown, for the page's header. */
  readonly folders: readonly string[];
  /** Opens the workspace in which a change is to be undone. */
  readonly openWorkspace: (roots: readonly string[]) => Promise<OpenWorkspace>;
  /** The reason why undo is not allowed here; undefined if it is. */
  readonly readOnly?: string | undefined;
  /** The session under which undos are journalled. */
  readonly who: string;
}

/** A workspace opened for an undo. */
type OpenWorkspace = Pick<Sessions, 'world' | 'close'>;

/** An answer to the page. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

type Query = URLSearchParams;
type Body = Readonly<Record<string, unknown>>;

/**
 * Answers the page's requests from the records. An undo is checked and journalled like any other
 * change.
 */
export class Api {
  readonly #options: ApiOptions;
  readonly #sources: ViewSources;

  constructor(options: ApiOptions) {
    this.#options = options;
    this.#sources = options.sources;
  }

  /** The answer to a GET; undefined if the name is unknown. */
  async get(name: string, query: Query): Promise<ApiAnswer | undefined> {
    const sources = this.#sources;
    switch (name) {
      case 'turns':
        return ok(await turnRows(sources, numberOf(query, 'before')));
      case 'files':
        return ok(await recentFiles(sources));
      case 'numbers':
        return ok({ numbers: await numbers(sources), state: await stateSize(sources.records) });
      case 'verify':
        return ok(await sources.records.verify());
      case 'start':
        return ok(await this.#start());
      case 'live':
        return ok(await this.#live(query));
      case 'feed':
        return ok(await this.#feed(query));
      case 'sessions':
        return ok(await sessionRows(sources));
      case 'entry':
        return found(await entryView(sources, numberOf(query, 'seq') ?? 0));
      case 'turn':
        return found(await this.#turn(numberOf(query, 'seq') ?? 0));
      case 'file':
        return this.#file(query.get('root') ?? '', query.get('path') ?? '');
      default:
        return undefined;
    }
  }

  /** The answer to a POST; undefined if the name is unknown. */
  async post(name: string, body: Body): Promise<ApiAnswer | undefined> {
    if (name !== 'undo' && name !== 'rewind') return undefined;
    const { readOnly } = this.#options;
    if (readOnly !== undefined) return { status: 403, body: { error: readOnly } };
    return name === 'undo' ? this.#undo(body) : this.#rewind(body);
  }

  async #start(): Promise<StartView> {
    const { folders, readOnly } = this.#options;
    const sources = this.#sources;
    const cursor = await sources.records.cursor();
    return {
      folders,
      canUndo: readOnly === undefined,
      ...(readOnly === undefined ? {} : { readOnly }),
      cursor,
      feed: await feedPage(sources.records.store, {
        near: sources.scope.filter,
        filter: {},
        limit: 2 * PAGE,
      }),
      sessions: await sessionRows(sources),
    };
  }

  async #live(query: Query): Promise<LiveView> {
    const { records, scope } = this.#sources;
    const wanted = { ...scope.filter, limit: MAX_LIVE + 1 };
    const { entries, cursor } = await records.newSince(query.get('after') ?? '', wanted);
    const rows = entries.slice(0, MAX_LIVE).map(feedRow);
    const { path } = filterOf(query);
    const matching = entries.filter((entry) => fitsFeed(entry, { path })).map(({ seq }) => seq);
    return {
      cursor,
      rows,
      ...(path === undefined ? {} : { matching }),
      ...(entries.length > MAX_LIVE ? { isCut: true } : {}),
    };
  }

  #feed(query: Query): ReturnType<typeof feedPage> {
    const { records, scope } = this.#sources;
    const before = numberOf(query, 'before');
    return feedPage(records.store, { near: scope.filter, filter: filterOf(query), before, limit: PAGE });
  }

  async #turn(seq: number): Promise<unknown> {
    const turn = await turnAt(this.#sources, seq);
    return turn && turnDetail(this.#sources, turn);
  }

  async #file(root: string, path: string): Promise<ApiAnswer> {
    if (root === '') return INVALID;
    if (!this.#sources.scope.includes(root)) return NOT_FOUND;
    return ok(await filePicture(this.#sources, { root, path }));
  }

  async #undo(body: Body): Promise<ApiAnswer> {
    const { change, root, path, hunk } = body;
    if (typeof change !== 'string' || !areTexts([root, path])) return INVALID;
    if (hunk !== undefined && (typeof hunk !== 'number' || typeof path !== 'string')) return INVALID;
    const named = { change, root: textOf(root), path: textOf(path) };
    const job = await undoJobFor(this.#sources, named);
    if (job === undefined) return NOT_FOUND;
    const preview = body['preview'] === true;
    const merge = body['merge'] === true ? { merge: true } : {};
    if (typeof hunk !== 'number') return this.#takeBack(job.roots, { ...job.selection, ...merge, preview });
    return this.#takeBack(job.roots, { change, key: job.selection.path ?? '', hunk, preview });
  }

  async #rewind(body: Body): Promise<ApiAnswer> {
    const { seq } = body;
    const turn = typeof seq === 'number' ? await turnAt(this.#sources, seq) : undefined;
    if (turn === undefined) return NOT_FOUND;
    const { records, scope } = this.#sources;
    const of = body['everyone'] === true ? 'everyone' : 'session';
    const job = await rewindJob(records, { turn, scope, of });
    if (job === undefined) return ok({ ok: true, files: [], diffs: [] } satisfies UndoView);
    const preview = body['preview'] === true;
    const merge = body['merge'] === true ? { merge: true } : {};
    return this.#takeBack(job.roots, { ...job.selection, ...merge, preview });
  }

  /** Runs an undo or its preview. If it is refused, answers with status 409 and the reason. */
  async #takeBack(
    roots: readonly string[],
    request: UndoJob['selection'] | Parameters<typeof takeBackPart>[1],
  ): Promise<ApiAnswer> {
    const { openWorkspace, who } = this.#options;
    const sessions = await openWorkspace(roots);
    const isPart = 'hunk' in request;
    const take = () => (isPart ? takeBackPart(sessions, request, who) : takeBack(sessions, request, who));
    try {
      const outcome = sessions.world.policy.readOnly ? refused(READ_ONLY) : await take();
      if (outcome.ok) return ok(takenView(this.#sources, outcome.taken));
      const { refusal } = outcome;
      const canMerge = !isPart && (await couldMerge(sessions, refusal, request));
      return { status: 409, body: conflictView(this.#sources, refusal, { root: roots[0] ?? '', canMerge }) };
    } finally {
      await sessions.close();
    }
  }
}

const READ_ONLY = {
  code: 'READ_ONLY',
  action: 'undo',
  path: '',
  next: 'ask_human',
  detail: { reason: 'the policy is read-only' },
} as const;
const NOT_FOUND: ApiAnswer = { status: 404, body: { error: 'there is no such entry here' } };
const INVALID: ApiAnswer = { status: 400, body: { error: 'the request is not valid' } };

function ok(body: unknown): ApiAnswer {
  return { status: 200, body };
}

function found(body: unknown): ApiAnswer {
  return body === undefined ? NOT_FOUND : ok(body);
}

function numberOf(query: Query, name: string): number | undefined {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function areTexts(values: readonly unknown[]): boolean {
  return values.every((value) => value === undefined || typeof value === 'string');
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function filterOf(query: Query): FeedFilter {
  const text = (name: string): string | undefined => query.get(name) || undefined;
  // Ignore unknown kinds, which match no entry.
  const kinds = query.getAll('kind').filter((kind) => Object.hasOwn(ENTRY_KINDS, kind)) as EntryKind[];
  return {
    session: text('session'),
    kinds: kinds.length === 0 ? undefined : kinds,
    path: text('path'),
    code: text('code'),
    turn: text('turn'),
  };
}

/** The result or preview of an undo, for users. */
function takenView(sources: ViewSources, { result, root }: TakenBack): UndoView {
  const { change, files, diff = '' } = result;
  return {
    ok: true,
    ...(change === undefined ? {} : { change }),
    files,
    diffs: previewDiffs(sources, { root, diff, paths: files.map(({ path }) => path) }),
  };
}

/** A refused undo: the reason and, if later changes of the file prevent the undo, their diff. */
function conflictView(
  sources: ViewSources,
  refusal: Refusal,
  { root, canMerge }: { readonly root: string; readonly canMerge: boolean },
): UndoView {
  const { code, path } = refusal;
  const diff = code === 'STALE' ? refusal.detail?.diff : undefined;
  return {
    ok: false,
    code,
    path,
    reason: reasonOf(refusal) ?? WHY[code],
    canMerge,
    diffs: diff === undefined ? [] : [section(sources, { root, path, text: diff })],
  };
}

/**
 * Splits the diff of an undo preview into sections, one per file. Each section begins with the
 * file's path on a line of its own.
 */
function previewDiffs(
  sources: ViewSources,
  { root, diff, paths }: { readonly root: string; readonly diff: string; readonly paths: readonly string[] },
): FileDiff[] {
  const names = new Map(paths.map((path) => [pathText(path), path]));
  const sections: { path: string; lines: string[] }[] = [];
  const lines = diff.split('\n');
  for (const [i, line] of lines.entries()) {
    const path = /^(@@ |\()/.test(lines[i + 1] ?? '') ? names.get(line) : undefined;
    if (path !== undefined) sections.push({ path, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ path, lines: rows }) => section(sources, { root, path, text: rows.join('\n') }));
}

function section(
  sources: ViewSources,
  { root, path, text }: { readonly root: string; readonly path: string; readonly text: string },
): FileDiff {
  const rows = unifiedRows(text, (line) => viewText(sources, path, line));
  const [note] = text.match(/^[(…].*$/m) ?? [];
  return { root, path, ...rows, parts: false, ...(note === undefined ? {} : { note }) };
}

/**
 * The undo of a change, or of its effect on one file (`path`). Undefined if the viewer shows no
 * such change.
 */
async function undoJobFor(
  { records, scope }: ViewSources,
  {
    change,
    root,
    path,
  }: { readonly change: string; readonly root?: string | undefined; readonly path?: string | undefined },
): Promise<UndoJob | undefined> {
  const entry = await records.change(change);
  if (entry === undefined || !scope.includes(entry.root)) return undefined;
  const [job] = await undoJobs(records, { cwd: root ?? entry.root, change, path });
  return job;
}

/** The turn that begins with the entry of this number; undefined if no turn begins there. */
async function turnAt({ records, scope }: ViewSources, seq: number): Promise<TurnView | undefined> {
  const [mark] = await records.store.entries({ ...scope.filter, afterSeq: seq - 1, beforeSeq: seq + 1 });
  if (mark?.kind !== 'turn' || mark.turn === undefined) return undefined;
  const turns = await turnViews(records, { scope, session: mark.session, name: mark.turn });
  return turns.find((turn) => turn.seq === seq);
}
