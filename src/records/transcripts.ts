import { resolve } from 'node:path';
import { type Audit, type AuditFinding, auditTranscript } from '../history/audit.ts';
import { type DerivedHistory, deriveSightingsFrom } from '../history/derive.ts';
import { Fault } from '../model/fault.ts';
import type { FormatName } from '../model/transcript.ts';
import {
  type FoundTranscript,
  findTranscripts,
  openTranscript,
  type TranscriptFile,
} from '../store/transcript-file.ts';

/** The lines that the model of a conversation has been shown, from its transcript. */
export type TranscriptSightings = DerivedHistory;
/** The problems found in one conversation. */
export type TranscriptFinding = AuditFinding;

interface ReadTranscriptOptions {
  /** The base of relative paths in these options. */
  readonly base: string;
  readonly format?: FormatName | undefined;
  /** Default: the project folder that the client has recorded, otherwise `base`. */
  readonly cwd?: string | undefined;
  /** Only files in this folder. */
  readonly root?: string | undefined;
  /** Called after each part of the file with the bytes read and the size of the file. */
  readonly onProgress: (bytes: number, size: number) => void;
}

/** Reads a transcript file of any size. */
export function readTranscript(path: string, options: ReadTranscriptOptions): Promise<TranscriptSightings> {
  const { base, format, cwd, root } = options;
  const transcript = openTranscript(resolve(base, path));
  return deriveSightingsFrom(reported(transcript, options.onProgress), {
    ...(format === undefined ? {} : { format }),
    cwd: resolve(base, cwd ?? transcript.project ?? '.'),
    ...(root === undefined ? {} : { root: resolve(base, root) }),
  });
}

async function* reported(
  { size, chunks }: TranscriptFile,
  onProgress: ReadTranscriptOptions['onProgress'],
): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const chunk of chunks) {
    yield chunk;
    done += chunk.byteLength;
    onProgress(done, size);
  }
}

/** The audit of one conversation that changed files. */
export interface AuditedTranscript extends FoundTranscript {
  readonly audit: Audit;
}

/** Longer transcripts are left out, because each one is loaded whole. */
const MAX_BYTES = 256 << 20;

/**
 * Audits the transcripts that this user's clients have kept. `leftOut` gets the path and reason of each skipped one.
 */
export async function auditTranscripts(
  places: Parameters<typeof findTranscripts>[0],
  root: string,
  leftOut: (path: string, reason: string) => void,
): Promise<readonly AuditedTranscript[]> {
  const audited: AuditedTranscript[] = [];
  for (const transcript of findTranscripts(places, root)) {
    try {
      const audit = await auditFile(transcript.path, root);
      if (audit.changes + audit.findings.length > 0) audited.push({ ...transcript, audit });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      leftOut(transcript.path, error.message);
    }
  }
  return audited;
}

async function auditFile(path: string, root: string): Promise<Audit> {
  const { size, chunks, project } = openTranscript(path);
  if (size > MAX_BYTES) throw new Fault('MISUSE', 'it is larger than 256 MB');
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return auditTranscript(Buffer.concat(parts).toString('utf8'), { root, cwd: project ?? root });
}
