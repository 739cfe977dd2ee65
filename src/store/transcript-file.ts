import { closeSync, createReadStream, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { errnoOf, isMissing } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';

/** The file of a conversation, to be read once from beginning to end. */
export interface TranscriptFile {
  /** Size at opening. The file may grow while it is read. */
  readonly size: number;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The project's folder, if the client wrote it beside its transcripts. Relative paths start there. */
  readonly project?: string;
}

const CHUNK_BYTES = 1 << 20;

/** Opens a transcript of any size in constant memory. A missing, unreadable or non-regular file is a Fault. */
export function openTranscript(path: string): TranscriptFile {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) throw new Fault('IO_FAILED', `${path} is not a file`, { path });
    const project = projectOf(path);
    const file = { size: stats.size, chunks: chunksOf(path) };
    return project === undefined ? file : { ...file, project };
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The end of a transcript as text. Its first line may be cut. '' if the file does not exist yet. */
export function transcriptTail(path: string, maxBytes: number): string {
  try {
    const descriptor = openSync(path, 'r');
    try {
      const { size } = fstatSync(descriptor);
      const bytes = Buffer.alloc(Math.min(size, maxBytes));
      const read = readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
      return bytes.subarray(0, read).toString('utf8');
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (isMissing(error)) return '';
    throw unreadable(path, error);
  }
}

/**
 * The project folder of a Gemini CLI transcript. Transcripts are in `PROJECT/chats/session-*.jsonl`, the folder's path
 * in `PROJECT/.project_root`.
 */
function projectOf(path: string): string | undefined {
  if (basename(dirname(path)) !== 'chats') return undefined;
  try {
    const project = readFileSync(join(dirname(dirname(path)), '.project_root'), 'utf8').trim();
    return isAbsolute(project) ? project : undefined;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    // Without this file, the user's setting determines where relative paths start.
    return undefined;
  }
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
  const why = isMissing(error) ? 'there is no such file' : errnoOf(error);
  return new Fault('IO_FAILED', `cannot read ${path}: ${why}`, { cause: error, path });
}
