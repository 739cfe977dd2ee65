import { setImmediate } from 'node:timers/promises';
import { ENTRY_KINDS, type EntryKind } from '../model/entry.ts';
import { refused } from '../model/verdict.ts';
import { linesOfChange } from '../records/path-diffs.ts';
import { rewindJob } from '../records/rewind.ts';
import { takeBack, takeBackPart, type UndoJob, undoJobs } from '../records/undo-jobs.ts';
import type { ViewSources } from '../records/view/diffs.ts';
import {
  entryNumbered,
  entryView,
  recentFiles,
  sessionRows,
  turnAt,
  turnRows,
} from '../records/view/entry-views.ts';
import { exported } from '../records/view/export.ts';
import { feedPage } from '../records/view/feed.ts';
import { filePicture } from '../records/view/file-picture.ts';
import { savesOf } from '../records/view/saves.ts';
import { conflictView, takenView } from '../records/view/undo-view.ts';
import type { FeedFilter, LineCount, LiveView, StartView } from '../records/view/view-data.ts';
import type { Sessions } from '../session/sessions.ts';

/**
 * Maximum number of rows in one answer about the feed, the page's list of journal entries. The
 * answer to the page's first request has up to twice as many.
 */
const PAGE = 200;
/** Maximum number of changes whose lines are counted in one answer. */
const MAX_COUNTS = 100;

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
  /** Plays the scenes of `lookfirst demo`, and returns the address of a viewer that shows them. */
  readonly playDemo?: (() => Promise<string>) | undefined;
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
type Answers = Readonly<Record<string, (sources: ViewSources, query: Query) => Promise<unknown>>>;

/**
 * Answers the page's requests from the records. An undo is checked and journalled like any other
 * change.
 */
export class Api {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** The answer to a GET; undefined if the name is unknown. */
  async get(name: string, query: Query): Promise<ApiAnswer | undefined> {
    const { sources } = this.#options;
    const answers: Answers = { ...ANSWERS, start: () => this.#start() };
    if (!Object.hasOwn(answers, name)) return undefined;
    const found = await answers[name]?.({ ...sources, context: numberOf(query, 'context') }, query);
    return found === undefined ? NOT_FOUND : ok(found);
  }

  /** The answer to a POST; undefined if the name is unknown. */
  async post(name: string, body: Body): Promise<ApiAnswer | undefined> {
    const { readOnly, playDemo } = this.#options;
    if (name === 'demo' && playDemo !== undefined) return ok({ url: await playDemo() });
    if (name !== 'undo' && name !== 'rewind') return undefined;
    if (readOnly !== undefined) return { status: 403, body: { error: readOnly } };
    return name === 'undo' ? this.#undo(body) : this.#rewind(body);
  }

  async #start(): Promise<StartView> {
    const { folders, readOnly, playDemo, sources } = this.#options;
    const { records, scope } = sources;
    const cursor = await records.cursor();
    return {
      folders,
      ...(readOnly === undefined ? {} : { readOnly }),
      canDemo: playDemo !== undefined,
      cursor,
      feed: await feedPage(records.store, { near: scope.filter, filter: {}, limit: 2 * PAGE }),
      sessions: await sessionRows(sources),
    };
  }

  async #undo(body: Body): Promise<ApiAnswer> {
    const { change, root, path, hunk } = body;
    if (typeof change !== 'string' || !isTextOrNone(root) || !isTextOrNone(path)) return INVALID;
    if (hunk !== undefined && (typeof hunk !== 'number' || path === undefined)) return INVALID;
    const { records, scope } = this.#options.sources;
    const entry = await records.change(change);
    if (entry === undefined || !scope.includes(entry.root)) return NOT_FOUND;
    const [job] = await undoJobs(records, { cwd: root ?? entry.root, change, path });
    if (job === undefined) return NOT_FOUND;
    const preview = body['preview'] === true;
    if (typeof hunk === 'number')
      return this.#takeBack(job.roots, { change, key: job.selection.path ?? '', hunk, preview });
    return this.#takeBack(job.roots, { ...job.selection, merge: true, preview });
  }

  async #rewind(body: Body): Promise<ApiAnswer> {
    const { sources } = this.#options;
    const { seq } = body;
    const turn = typeof seq === 'number' ? await turnAt(sources, seq) : undefined;
    if (turn === undefined) return NOT_FOUND;
    const job = await rewindJob(sources.records, { turn, scope: sources.scope, of: 'session' });
    if (job === undefined) return ok({ ok: true, files: [], diffs: [], stays: [] });
    return this.#takeBack(job.roots, { ...job.selection, merge: true, preview: body['preview'] === true });
  }

  /**
   * Runs an undo or its preview. Later changes of the same files stay if both can be merged. If the
   * undo is refused, answers with status 409 and the reason.
   */
  async #takeBack(
    roots: readonly string[],
    request: UndoJob['selection'] | Parameters<typeof takeBackPart>[1],
  ): Promise<ApiAnswer> {
    const { openWorkspace, who, sources } = this.#options;
    const sessions = await openWorkspace(roots);
    const take = () =>
      'hunk' in request ? takeBackPart(sessions, request, who) : takeBack(sessions, request, who);
    const part = 'hunk' in request ? 'hunk' : request.path === undefined ? undefined : 'file';
    try {
      const outcome = sessions.world.policy.readOnly ? refused(READ_ONLY) : await take();
      if (outcome.ok) return ok(await takenView(sources, outcome.taken, part));
      return { status: 409, body: conflictView(outcome.refusal, roots[0] ?? '') };
    } finally {
      await sessions.close();
    }
  }
}

/** The answers to GET requests, by name. Undefined means that there is nothing to show. */
const ANSWERS: Answers = {
  turns: (sources, query) => turnRows(sources, numberOf(query, 'before')),
  files: recentFiles,
  saves: (sources) => savesOf(sources, Date.now()),
  counts: (sources, query) => countLines(sources, query.getAll('seq').map(Number)),
  live: async ({ records, scope }, query): Promise<LiveView> => {
    const after = query.get('after') ?? '';
    const { entries, cursor } = await records.newSince(after, { ...scope.filter, limit: PAGE });
    return { cursor, kinds: [...new Set(entries.map(({ kind }) => kind))] };
  },
  feed: ({ records, scope }, query) => {
    const before = numberOf(query, 'before');
    return feedPage(records.store, { near: scope.filter, filter: filterOf(query), before, limit: PAGE });
  },
  sessions: sessionRows,
  entry: (sources, query) => entryView(sources, seqOf(query)),
  file: async (sources, query) => {
    const [root, path] = [query.get('root') ?? '', query.get('path') ?? ''];
    return root !== '' && sources.scope.includes(root) ? filePicture(sources, { root, path }) : undefined;
  },
  export: async (sources, query) => {
    const view = await entryView(sources, seqOf(query));
    const text = view && exported(view, query.get('form') === 'html' ? 'html' : 'markdown');
    return text && { text };
  },
};

async function countLines(
  sources: ViewSources,
  changes: readonly number[],
): Promise<Readonly<Record<number, LineCount>>> {
  const counts: Record<number, LineCount> = {};
  for (const seq of changes.slice(0, MAX_COUNTS)) {
    // Between two changes, requests of the page can be answered.
    await setImmediate();
    const entry = await entryNumbered(sources, seq);
    const count = entry?.kind === 'change' ? await linesOfChange(sources.records.images, entry) : undefined;
    counts[seq] = count ?? { added: 0, removed: 0 };
  }
  return counts;
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

function numberOf(query: Query, name: string): number | undefined {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function seqOf(query: Query): number {
  return numberOf(query, 'seq') ?? 0;
}

function isTextOrNone(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
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
