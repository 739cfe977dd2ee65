import { ftruncate, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Fingerprint } from '../model/fingerprint.ts';
import { holds } from './compare.ts';
import { fingerprintOf } from './read.ts';

const writeAsync = promisify(write);
const ftruncateAsync = promisify(ftruncate);

/** Below this a write costs less than a trip to the thread pool. */
const SYNC_BYTES = 1 << 20;

/**
 * The content of a new file: bytes in memory, with their fingerprint if the caller already has it, or
 * chunks of a file too large to load. Reading the chunks fails if they do not match the fingerprint.
 */
export type Content =
  | { readonly bytes: Uint8Array; readonly fingerprint?: Fingerprint }
  | {
      readonly bytes?: undefined;
      readonly fingerprint: Fingerprint;
      readonly chunks: () => AsyncIterable<Uint8Array>;
    };

export function fingerprintOfContent(content: Content): Fingerprint {
  return content.bytes === undefined
    ? content.fingerprint
    : (content.fingerprint ?? fingerprintOf(content.bytes));
}

export function sizeOfContent(content: Content): number {
  return content.bytes === undefined ? content.fingerprint.size : content.bytes.byteLength;
}

/** True if the open file holds exactly this content. */
export function holdsContent(fd: number, content: Content): boolean {
  const fingerprint = fingerprintOfContent(content);
  return holds(fd, content.bytes === undefined ? { fingerprint } : { fingerprint, bytes: content.bytes });
}

/** Writes the content to an empty file. */
export async function writeContent(fd: number, content: Content): Promise<void> {
  if (content.bytes === undefined) return writeChunks(fd, content.chunks());
  const { bytes } = content;
  if (bytes.byteLength > SYNC_BYTES) return writeAt(fd, bytes, 0);
  for (let done = 0; done < bytes.byteLength; ) done += writeSync(fd, bytes, done);
}

/** Leaves holes for chunks of zeros, so that a sparse file stays sparse. */
async function writeChunks(fd: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let size = 0;
  for await (const chunk of chunks) {
    if (!isZero(chunk)) await writeAt(fd, chunk, size);
    size += chunk.byteLength;
  }
  await ftruncateAsync(fd, size);
}

async function writeAt(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const left = bytes.byteLength - done;
    done += (await writeAsync(fd, bytes, done, left, position + done)).bytesWritten;
  }
}

/** Compares the bytes with themselves, shifted by one: the fastest test that needs no second buffer. */
function isZero(chunk: Uint8Array): boolean {
  if (chunk[0] !== 0) return chunk.byteLength === 0;
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return bytes.subarray(1).equals(bytes.subarray(0, -1));
}
