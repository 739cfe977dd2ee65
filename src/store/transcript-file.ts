import { createReadStream, statSync } from 'node:fs';
import { errnoOf, isMissing } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';

/** A conversation's file, to be read once from beginning to end. */
export interface TranscriptFile {
  /** When it was opened; it may grow while it is read. */
  readonly size: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

const CHUNK_BYTES = 1 << 20;

/** Opens a transcript of any size; memory does not grow with it. Faults if it is missing, no file, or unreadable. */
export function openTranscript(path: string): TranscriptFile {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) throw new Fault('IO_FAILED', `${path} is not a file`, { path });
    return { size: stats.size, chunks: chunksOf(path) };
  } catch (error) {
    throw unreadable(path, error);
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
