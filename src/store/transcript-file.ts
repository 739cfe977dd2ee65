import {
  closeSync,
  createReadStream,
  type Dirent,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { errnoOf, Fault, isMissing, unlessErrno } from '../model/fault.ts';
import { unreadableWords } from './prepare-home.ts';

/** The file of a conversation, to be read once from beginning to end. */
interface TranscriptFile {
  /** Size at opening. The file may grow while it is read. */
  readonly size: number;
  readonly chunks: AsyncIterable<Uint8Array>;
  /**
   * The project's folder, if the client stores its path beside the transcripts. Relative paths in
   * the transcript start there.
   */
  readonly project?: string;
}

const CHUNK_BYTES = 1 << 20;

/** Opens a transcript of any size in constant memory. A missing, unreadable or non-regular file is a Fault. */
export function openTranscript(path: string): TranscriptFile {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) throw new Fault('IO_FAILED', `${path} is not a file; name a transcript`, { path });
    const project = projectOf(path);
    const file = { size: stats.size, chunks: chunksOf(path) };
    return project === undefined ? file : { ...file, project };
  } catch (error) {
    throw unreadable(path, error);
  }
}

/**
 * The last bytes of a transcript as text, or the last bytes before the byte `end`. The first line
 * may be cut. Empty if `path` is not a readable file: a client may name no transcript, or one that
 * does not exist yet.
 */
export function transcriptTail(
  path: string,
  maxBytes: number,
  end: number = Number.POSITIVE_INFINITY,
): string {
  return unlessErrno(() => tailOf(path, maxBytes, end)) ?? '';
}

function tailOf(path: string, maxBytes: number, end: number): string {
  if (!statSync(path).isFile()) return '';
  const descriptor = openSync(path, 'r');
  try {
    const to = Math.min(end, fstatSync(descriptor).size);
    const bytes = Buffer.alloc(Math.min(to, maxBytes));
    const read = readSync(descriptor, bytes, 0, bytes.length, to - bytes.length);
    return bytes.subarray(0, read).toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}

/**
 * The other transcripts (`.jsonl`) in the same folder whose names contain a word. Empty if the
 * folder cannot be read.
 */
export function transcriptsBeside(path: string, word: string): readonly string[] {
  const names = unlessErrno(() => readdirSync(dirname(path))) ?? [];
  return names
    .filter((name) => name.includes(word) && name.endsWith('.jsonl') && name !== basename(path))
    .map((name) => join(dirname(path), name));
}

/**
 * The project folder of a Gemini CLI transcript. Transcripts are in `PROJECT/chats/session-*.jsonl`, the folder's path
 * in `PROJECT/.project_root`.
 */
function projectOf(path: string): string | undefined {
  if (basename(dirname(path)) !== 'chats') return undefined;
  const text = unlessErrno(() => readFileSync(join(dirname(dirname(path)), '.project_root'), 'utf8'));
  // Undefined without `.project_root`: the caller's setting then says where relative paths start.
  const project = text?.trim() ?? '';
  return isAbsolute(project) ? project : undefined;
}

async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: CHUNK_BYTES });
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): unknown {
  if (error instanceof Fault || errnoOf(error) === undefined) return error;
  const why = isMissing(error) ? 'there is no such file' : unreadableWords(errnoOf(error) ?? String(error));
  return new Fault('IO_FAILED', `cannot read ${path}: ${why}`, { cause: error, path });
}

/** A transcript that a client has stored on this machine. */
export interface FoundTranscript {
  readonly client: 'claude-code' | 'codex' | 'gemini';
  readonly path: string;
}

/** The user's home folder, and the environment variables that move the folders of clients. */
interface Places {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Maximum depth of the search. The deepest transcripts are `sessions/2026/11/15/rollout-….jsonl`
 * and `projects/NAME/SESSION/subagents/agent-….jsonl`.
 */
const MAX_DEPTH = 5;

/**
 * The transcripts that this user's clients have stored, by client, then by path. Lists only Claude
 * Code transcripts of projects that may contain `root` or be inside it, going by their folder
 * names. Skips unreadable folders.
 */
export function findTranscripts({ home, env }: Places, root: string): readonly FoundTranscript[] {
  const claude = join(env['CLAUDE_CONFIG_DIR'] || join(home, '.claude'), 'projects');
  const projects = entriesOf(claude).filter((entry) => entry.isDirectory() && mayConcern(entry.name, root));
  const codex = join(env['CODEX_HOME'] || join(home, '.codex'), 'sessions');
  const gemini = join(env['GEMINI_CLI_HOME'] || home, '.gemini', 'tmp');
  return [
    ...projects.flatMap(({ name }) => found('claude-code', join(claude, name), /\.jsonl$/)),
    ...found('codex', codex, /^rollout-.*\.jsonl$/),
    ...found('gemini', gemini, /^session-.*\.jsonl$/),
  ];
}

/**
 * True if a project folder of Claude Code may concern `root`. Its name is the project's path, with a dash for every
 * character that is not a letter or digit.
 */
function mayConcern(name: string, root: string): boolean {
  const filed = root.replaceAll(/[^A-Za-z0-9]/g, '-');
  return name.startsWith(filed) || filed.startsWith(name);
}

function found(client: FoundTranscript['client'], folder: string, name: RegExp): readonly FoundTranscript[] {
  return filesIn(folder, name, MAX_DEPTH).map((path) => ({ client, path }));
}

function filesIn(folder: string, name: RegExp, depth: number): readonly string[] {
  return entriesOf(folder).flatMap((entry): readonly string[] => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return depth === 0 ? [] : filesIn(path, name, depth - 1);
    return entry.isFile() && name.test(entry.name) ? [path] : [];
  });
}

function entriesOf(folder: string): readonly Dirent[] {
  return (
    unlessErrno(() =>
      readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)),
    ) ?? []
  );
}
