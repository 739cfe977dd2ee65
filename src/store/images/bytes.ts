import { createHash, hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isMissing } from '../../model/fault.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import { changedWhileKept } from '../images.ts';

/**
 * Files above this size are read in chunks in the thread pool. That is slower, but saves memory.
 */
export const SMALL_BYTES: number = 1 << 20;
const CHUNK_BYTES = 1 << 18;
/**
 * Flags to open an image (a stored copy of a file's bytes). If a link or a pipe has taken its
 * place, opening neither follows the link nor waits for the pipe.
 */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The first `size` bytes of a file, or fewer if it is shorter, and its full length. For small sizes. */
export function readStart(
  file: string,
  size: number,
): { readonly bytes: Uint8Array; readonly total: number } {
  const fd = openSync(file, READ);
  try {
    const bytes = new Uint8Array(size);
    let done = 0;
    for (;;) {
      const count = done < size ? readSync(fd, bytes, done, size - done, done) : 0;
      if (count === 0) return { bytes: bytes.subarray(0, done), total: fstatSync(fd).size };
      done += count;
    }
  } finally {
    closeSync(fd);
  }
}

/** The first `size` bytes of a file in chunks. */
export async function* startChunks(file: string, size: number): AsyncGenerator<Uint8Array> {
  yield* chunksOf(await openImage(file), size);
}

export function openImage(file: string): Promise<FileHandle> {
  return open(file, READ);
}

/** The first `size` bytes of an open file in chunks. Closes the file at the end. */
export async function* chunksOf(handle: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  try {
    for (let done = 0; done < size; ) {
      const chunk = await readChunk(handle, done, Math.min(CHUNK_BYTES, size - done));
      if (chunk.byteLength === 0) return;
      done += chunk.byteLength;
      yield chunk;
    }
  } finally {
    await handle.close();
  }
}

async function readChunk(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** True if the file exists and its first bytes have this fingerprint (size and hash). */
export async function beginsWith(file: string, fingerprint: Fingerprint): Promise<boolean> {
  try {
    return (await hashOfStart(file, fingerprint.size)) === fingerprint.sha256;
  } catch (error) {
    // Another process may just have moved the file, so a missing file is no error.
    if (isMissing(error)) return false;
    throw error;
  }
}

async function hashOfStart(file: string, size: number): Promise<string> {
  if (size <= SMALL_BYTES) return hash('sha256', readStart(file, size).bytes);
  const digest = createHash('sha256');
  for await (const chunk of startChunks(file, size)) digest.update(chunk);
  return digest.digest('hex');
}

/** The bytes of a file in chunks. Throws at the end if they do not match the fingerprint. */
export async function* verified(fromPath: string, { sha256, size }: Fingerprint): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256');
  // Read one byte more than expected, to detect a file that grew.
  for await (const chunk of startChunks(fromPath, size + 1)) {
    digest.update(chunk);
    yield chunk;
  }
  if (digest.digest('hex') !== sha256) throw changedWhileKept(fromPath);
}

export async function joinChunks(chunks: AsyncIterable<Uint8Array>, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let done = 0;
  for await (const chunk of chunks) {
    bytes.set(chunk, done);
    done += chunk.byteLength;
  }
  return bytes;
}
