import type { Unreadable } from '../disk/read.ts';
import { type DEFAULT_LIMITS, findRipgrep, type RipgrepEnd, runRipgrep } from '../disk/ripgrep.ts';
import { type FileGlob, protectedScope, readGlob, scopeOf } from '../disk/ripgrep-glob.ts';
import { OpenedFiles, RipgrepRecords, readEvent } from '../disk/ripgrep-records.ts';
import { maskedBytes } from '../gate/masking.ts';
import { Fault } from '../model/fault.ts';
import type { Place } from '../model/path.ts';
import type { SearchResult } from '../model/results.ts';
import type { SearchOptions } from '../model/session.ts';
import { invalidArgument, type Outcome, type Refused, refused } from '../model/verdict.ts';
import { mayHoldSecret } from '../text/secret-scan.ts';
import { isSecretPath, type KnownSecrets, type MaskedText, maskText, unmasked } from '../text/secrets.ts';
import type { Located } from '../workspace/workspace.ts';
import {
  completeness,
  openBase,
  runLimits,
  type SearchTarget,
  type SearchWorld,
  tooLong,
  whyUnusable,
} from './find.ts';
import { unreadableRefusal } from './reading.ts';

const DEFAULT_LIMIT = 200;
/** Number of files passed to one run of ripgrep; each needs a descriptor. */
const BATCH = 128;
const EVERY_FILE: FileGlob = { args: [], base: [], matches: () => true };

/**
 * Searches text line by line with a regular expression of ripgrep, in path order. The limit counts
 * lines in the mode `lines`, and files in the modes `files` and `count`. `matches` counts files in
 * the mode `files`, and lines in the other modes. If the limit is reached, the choice of files is
 * random, because ripgrep searches in parallel.
 *
 * Ripgrep follows a folder that another process swaps for a link. So its first run only lists
 * candidates. All shown text comes from a second run, over files opened inside the workspace.
 *
 * A hit does not count as seen: it shows too little of a file to change it.
 */
export async function searchText(
  world: SearchWorld,
  pattern: string,
  options: SearchOptions = {},
): Promise<Outcome<SearchResult>> {
  const { path = '.' } = options;
  const reason = whyInvalid(pattern, options);
  if (reason !== undefined) return refused(invalidArgument('search', path, reason));
  const glob = options.glob === undefined ? EVERY_FILE : readGlob(options.glob);
  if ('problem' in glob) return refused(invalidArgument('search', path, glob.problem));
  const kept = options.exclude === undefined ? EVERY_FILE : readGlob(`!${options.exclude}`);
  if ('problem' in kept) return refused(invalidArgument('search', path, kept.problem));
  const opened = openBase(world.workspace, path, glob.base);
  if (!opened.ok) return opened;
  const { target } = opened;
  const { mode = 'lines', limit = DEFAULT_LIMIT } = options;
  if (target === undefined) return { ok: true, mode, hits: [], truncated: false, matches: 0 };
  try {
    const binary = await findRipgrep(world.ripgrep ?? {}, world.workspace.roots);
    const candidates: string[] = [];
    const limits = limitsFromNow(runLimits(world));
    const search = { world, binary, path, pattern, glob, kept, options, mode, limit, limits, candidates };
    return await (target.kind === 'file' ? searchFile(search, target) : searchFolder(search, target));
  } finally {
    target.dir.close();
  }
}

interface Search {
  readonly world: SearchWorld;
  readonly binary: string;
  readonly path: string;
  readonly pattern: string;
  readonly glob: FileGlob;
  /**
   * Matches all files except those that the option `exclude` matches. Only files that match both
   * `glob` and `kept` are searched.
   */
  readonly kept: FileGlob;
  readonly options: SearchOptions;
  readonly mode: SearchResult['mode'];
  readonly limit: number;
  /** Limits for the next run of ripgrep. */
  readonly limits: () => typeof DEFAULT_LIMITS;
  /** Files in which the first run found matches; paths relative to the folder. */
  readonly candidates: string[];
}

/** Returns a function for the limits of the next run. All runs of a search share one time limit. */
function limitsFromNow({ timeMs, memoryBytes }: typeof DEFAULT_LIMITS): () => typeof DEFAULT_LIMITS {
  const endMs = performance.now() + timeMs;
  return () => ({ timeMs: Math.max(endMs - performance.now(), 1), memoryBytes });
}

type Folder = Extract<SearchTarget, { kind: 'folder' }>;
type File = Extract<SearchTarget, { kind: 'file' }>;

function whyInvalid(pattern: string, { glob, exclude }: SearchOptions): string | undefined {
  return (
    whyUnusable('pattern', pattern) ??
    (glob === undefined ? undefined : whyUnusable('glob', glob)) ??
    (exclude === undefined ? undefined : whyUnusable('exclude', exclude))
  );
}

/** Returns the function that masks secrets in the lines of the file at `path`, according to the policy. */
type MaskFor = (path: string) => (line: string) => MaskedText;

function lineMask({ policy }: SearchWorld): MaskFor {
  if (policy?.secrets === 'show') return () => unmasked;
  return (path) => (line) => maskText(line, { secretFile: isSecretPath(path), isPart: true });
}

async function searchFile(search: Search, { place }: File): Promise<Outcome<SearchResult>> {
  const files = openedFiles(search);
  try {
    const problem = openFile(search, files, place);
    if (problem !== undefined)
      return refused({ ...unreadableRefusal(search.path, problem), action: 'search' });
    const reader = hitReader(search);
    const end = await readHits(search, files, reader);
    return whyFailed(search, end) ?? resultOf(search, reader, end.how);
  } finally {
    files.close();
  }
}

async function searchFolder(search: Search, folder: Folder): Promise<Outcome<SearchResult>> {
  const { candidates } = search;
  const first = await listCandidates(search, folder);
  const failed = whyFailed(search, first);
  if (failed !== undefined) return failed;
  candidates.sort();
  const reader = hitReader(search);
  let { how } = first;
  for (let start = 0; start < candidates.length; start += BATCH) {
    const end = await readBatch(search, folder, { reader, paths: candidates.slice(start, start + BATCH) });
    if (end.how !== 'done') how = end.how;
    if (end.how === 'enough' || end.how === 'overrun') break;
  }
  return resultOf(search, reader, how);
}

async function readBatch(
  search: Search,
  folder: Folder,
  { reader, paths }: { readonly reader: HitReader; readonly paths: readonly string[] },
): Promise<RipgrepEnd> {
  const files = openedFiles(search);
  try {
    const missing = paths.filter((path) => !openInside(search, files, `${folder.path.absolute}/${path}`));
    const nothing: RipgrepEnd = { how: 'done', complaint: '' };
    const end = files.arguments.length === 0 ? nothing : await readHits(search, files, reader);
    if (end.how === 'failed') throw failure(end);
    // The result is incomplete if a name is not UTF-8: its decoded form opens no file.
    const isPart = end.how === 'done' && missing.some((path) => path.includes('\uFFFD'));
    return isPart ? { ...end, how: 'partly' } : end;
  } finally {
    files.close();
  }
}

/**
 * Lists the files that have a match, relative to the folder. Stops after one file more than the
 * limit: each has at least one match, so the limit is then exceeded.
 */
async function listCandidates(search: Search, folder: Folder): Promise<RipgrepEnd> {
  const { glob, kept, world, limit, candidates } = search;
  const base = glob.base.map((name) => `${name}/`).join('');
  const records = new RipgrepRecords('\0');
  return runRipgrep({
    binary: search.binary,
    args: [
      '--files-with-matches',
      '--null',
      '--no-mmap',
      ...scopeOf(folder.path),
      ...protectedScope(folder.path, world.workspace.protectedGlobs),
      ...glob.args,
      ...patternArgs(search),
      './',
    ],
    where: { folder: folder.dir.prefix },
    signal: search.options.signal,
    limits: search.limits(),
    onTick: () => search.options.onProgress?.(candidates.length),
    onOutput: (chunk) => {
      const paths = records.take(chunk).map((path) => path.slice('./'.length));
      const wanted = (path: string): boolean => glob.matches(base + path) && kept.matches(base + path);
      candidates.push(...paths.filter(wanted));
      // The hit in a secret file may be inside a masked value, which is no hit.
      return candidates.filter((path) => !isSecretPath(path)).length > limit ? 'enough' : 'more';
    },
  });
}

const NO_VALUES: KnownSecrets = {
  isSecretText: () => false,
  spansIn: () => [],
  mayBeIn: () => false,
};

/** Opens a file to be searched as reads show it, so that no pattern matches inside a masked value. */
function openFile({ world }: Search, files: OpenedFiles, place: Place): Unreadable | undefined {
  const { policy = { secrets: 'mask' }, secretValues = NO_VALUES, workspace } = world;
  const { relative } = place.path;
  const mayHold = (bytes: Buffer): boolean =>
    isSecretPath(relative) || mayHoldSecret(bytes) || secretValues.mayBeIn(bytes);
  const visible = (bytes: Buffer): Uint8Array =>
    policy.secrets === 'show' || !mayHold(bytes)
      ? bytes
      : maskedBytes({ policy, secretValues }, relative, bytes).bytes;
  return files.open(place, workspace.shown(place.path), visible);
}

/** Opens a regular, unprotected file inside the workspace. False for anything else, which is skipped. */
function openInside(search: Search, files: OpenedFiles, absolute: string): boolean {
  const { workspace } = search.world;
  const open = ({ place }: Located): boolean => openFile(search, files, place) === undefined;
  return workspace.atOnce({ path: absolute, action: 'search', links: 'parents' }, open, () => false);
}

const PRINTING: Readonly<Record<SearchResult['mode'], readonly string[]>> = {
  lines: ['--json'],
  files: ['--files-with-matches', '--null'],
  count: ['--count', '--with-filename', '--null'],
};

async function readHits(search: Search, files: OpenedFiles, reader: HitReader): Promise<RipgrepEnd> {
  const { mode, options, limit } = search;
  const lines = ['--max-count', String(limit + 1), '--context', String(options.context ?? 0)];
  reader.begin(files);
  return runRipgrep({
    binary: search.binary,
    args: [
      // One thread, so that files are searched in the given order.
      ...['--no-config', '--no-messages', '--no-ignore', '--no-mmap', '--threads=1'],
      ...PRINTING[mode],
      ...(mode === 'lines' ? lines : []),
      ...patternArgs(search),
      ...files.arguments,
    ],
    where: { files: files.descriptors },
    signal: options.signal,
    limits: search.limits(),
    onTick: () => options.onProgress?.(search.candidates.length),
    onOutput: (chunk) => reader.take(chunk),
  });
}

function patternArgs({ options, pattern }: Search): string[] {
  const literal = options.literal === true ? ['--fixed-strings'] : [];
  const letters = options.ignoreCase === true ? '--ignore-case' : '--case-sensitive';
  const words = options.wholeWord === true ? ['--word-regexp'] : [];
  return [...literal, ...words, letters, `--regexp=${pattern}`, '--'];
}

function openedFiles({ world }: Search): OpenedFiles {
  return new OpenedFiles(world.workspace.guarantee === 'walk' ? 'handles' : 'paths');
}

/** The refusal for a pattern that ripgrep cannot parse. Any other failure is a Fault. */
function whyFailed(search: Search, { how, complaint }: RipgrepEnd): Refused | undefined {
  if (how !== 'failed') return undefined;
  if (!/regex/.test(complaint)) throw failure({ complaint });
  const message = complaint.replace(/^rg: /, '').split(/\n\s*\n/)[0] ?? '';
  const reason = `the pattern cannot be used: ${message.replace(/\s+/g, ' ').trim()}`;
  return refused(invalidArgument('search', search.path, reason));
}

function failure({ complaint }: Pick<RipgrepEnd, 'complaint'>): Fault {
  return new Fault('IO_FAILED', `ripgrep could not search: ${complaint || 'it was ended'}`);
}

function resultOf(search: Search, reader: HitReader, how: RipgrepEnd['how']): Outcome<SearchResult> {
  const { hits, matches } = reader;
  if (how === 'overrun' && hits.length === 0) return refused(tooLong(search.path));
  return { ok: true, mode: search.mode, hits, ...completeness({ isCut: reader.cut, how }), matches };
}

type Hit = SearchResult['hits'][number];

/** Maximum number of characters in all lines of an answer. Further lines are left out. */
const MAX_SHOWN_CHARS = 200_000;

/** Parses ripgrep's output about opened files, until the limit is reached. */
interface HitReader {
  /** Begins another run over other files. */
  begin(files: OpenedFiles): void;
  take(chunk: Buffer): 'more' | 'enough';
  /** True if some matches were left out. */
  readonly cut: boolean;
  readonly hits: readonly Hit[];
  readonly matches: number;
}

/** Creates the parser for a search's mode. */
function hitReader({ mode, limit, world }: Search): HitReader {
  switch (mode) {
    case 'lines':
      return new LineHits(limit, lineMask(world));
    case 'files':
      return new FileHits(limit, /^([^\0]*)\0/);
    case 'count':
      return new FileHits(limit, /^([^\0]*)\0(\d+)\n/);
    default:
      return mode satisfies never;
  }
}

class LineHits implements HitReader {
  cut = false;
  matches = 0;
  readonly #limit: number;
  readonly #lines: { readonly hit: Hit; readonly end: number }[] = [];
  #files: OpenedFiles | undefined;
  #records = new RipgrepRecords('\n');
  #chars = 0;
  /** Index in `#lines` of the current file's first line. */
  #start = 0;

  readonly #maskFor: MaskFor;

  constructor(limit: number, maskFor: MaskFor) {
    this.#limit = limit;
    this.#maskFor = maskFor;
  }

  get hits(): readonly Hit[] {
    return this.#lines.map(({ hit }) => hit);
  }

  begin(files: OpenedFiles): void {
    this.#files = files;
    this.#records = new RipgrepRecords('\n');
    this.#start = this.#lines.length;
  }

  take(chunk: Buffer): 'more' | 'enough' {
    const { dropped } = this.#records;
    for (const record of this.#records.take(chunk)) {
      const event = readEvent(record, (file) =>
        this.#files?.isCopy(file) === true ? unmasked : this.#maskFor(this.#files?.shown(file) ?? file),
      );
      if (event?.kind === 'end') this.#endFile(event.binaryOffset);
      else if (event !== undefined && !this.#add(event)) return 'enough';
    }
    if (this.#records.dropped > dropped) this.cut = true;
    return 'more';
  }

  #add(event: Extract<NonNullable<ReturnType<typeof readEvent>>, { kind: 'line' }>): boolean {
    const path = this.#files?.shown(event.file);
    if (path === undefined) return true;
    const last = this.#lines.at(-1)?.hit;
    // At the limit, take only the context lines directly after the last match.
    const follows = event.context && last?.path === path && last.line + 1 === event.line;
    const full = this.matches === this.#limit && !follows;
    if (full || this.#chars + event.text.length > MAX_SHOWN_CHARS) {
      this.cut = true;
      return false;
    }
    this.#chars += event.text.length;
    if (!event.context) this.matches += 1;
    const { line, text, context } = event;
    const hit = { path, line, text, ...(context ? { context } : {}) };
    this.#lines.push({ hit, end: event.end });
    return true;
  }

  /** Ends a file. Removes its lines after a NUL byte: from there on, the file is not text. */
  #endFile(binaryOffset: number | undefined): void {
    if (binaryOffset !== undefined) {
      const lines = this.#lines.splice(this.#start);
      this.#lines.push(...lines.filter(({ end }) => end <= binaryOffset));
      const left = lines.filter(({ hit, end }) => end > binaryOffset && hit.context !== true).length;
      this.matches -= left;
      this.cut ||= left > 0;
    }
    this.#start = this.#lines.length;
  }
}

/** Parses one hit per file: `path NUL`, or `path NUL count newline`. */
class FileHits implements HitReader {
  cut = false;
  matches = 0;
  readonly hits: Hit[] = [];
  readonly #limit: number;
  readonly #shape: RegExp;
  #files: OpenedFiles | undefined;
  #text = '';

  constructor(limit: number, shape: RegExp) {
    this.#limit = limit;
    this.#shape = shape;
  }

  begin(files: OpenedFiles): void {
    this.#files = files;
    this.#text = '';
  }

  take(chunk: Buffer): 'more' | 'enough' {
    this.#text += chunk.toString('utf8');
    for (let found = this.#shape.exec(this.#text); found !== null; found = this.#shape.exec(this.#text)) {
      this.#text = this.#text.slice(found[0].length);
      const path = this.#files?.shown(found[1] ?? '');
      if (path === undefined) continue;
      if (this.hits.length === this.#limit) {
        this.cut = true;
        return 'enough';
      }
      const count = found[2] === undefined ? undefined : Number(found[2]);
      this.matches += count ?? 1;
      this.hits.push({ path, line: 0, text: '', ...(count === undefined ? {} : { count }) });
    }
    return 'more';
  }
}
