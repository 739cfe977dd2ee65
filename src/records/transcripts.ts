import { relative, resolve } from 'node:path';
import { PRESETS } from '../config/presets.ts';
import { usualRules } from '../dialect/calls/hosts/usual.ts';
import { touchesOf } from '../dialect/calls/interpret.ts';
import { recordedLine, type ShellLine } from '../dialect/calls/shell/shell-line.ts';
import type { RunTouch } from '../dialect/calls/touch.ts';
import { outputTest } from '../gate/outputs.ts';
import type { RecordedCall } from '../history/accesses-of.ts';
import { type DerivedHistory, deriveSightingsFrom } from '../history/derive.ts';
import { detectFormat, formatNamed } from '../history/detect.ts';
import type { SeenEntry } from '../history/entry.ts';
import { Fold, type FoldObserver, type ObservedChange } from '../history/fold.ts';
import type { HistoryOptions } from '../history/history-sighting.ts';
import { enterDirectory, isInside, locate } from '../history/paths.ts';
import type { RecordedResult } from '../history/tool-result.ts';
import { ComparedText } from '../history/verify.ts';
import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import type { FormatName } from '../model/transcript.ts';
import { type FoundTranscript, findTranscripts, openTranscript } from '../store/transcript-file.ts';
import { destroyingCommands } from './destroying-commands.ts';

interface ReadTranscriptOptions {
  /** The base of relative paths in these options. */
  readonly base: string;
  readonly format?: FormatName | undefined;
  /**
   * The folder where relative paths in the transcript start. Default: the project folder that the
   * client recorded; if there is none, `base`.
   */
  readonly cwd?: string | undefined;
  /** Leave out files outside this folder. */
  readonly root?: string | undefined;
  /** Called with the bytes read so far and the size of the file. */
  readonly onProgress: (done: number, size: number) => void;
}

/** Reads a transcript file of any size. */
export function readTranscript(path: string, options: ReadTranscriptOptions): Promise<DerivedHistory> {
  const { base, format, cwd, root } = options;
  const transcript = openTranscript(resolve(base, path));
  return deriveSightingsFrom(reported(transcript, options.onProgress), {
    ...(format === undefined ? {} : { format }),
    cwd: resolve(base, cwd ?? transcript.project ?? '.'),
    ...(root === undefined ? {} : { root: resolve(base, root) }),
  });
}

/** Passes on the chunks of a transcript and reports how many bytes they were. */
async function* reported(
  { size, chunks }: ReturnType<typeof openTranscript>,
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
interface AuditedTranscript extends FoundTranscript {
  readonly audit: Audit;
}

/** Longer transcripts are left out, because each one is loaded whole. */
const MAX_BYTES = 256 << 20;

/**
 * Audits the transcripts that this user's clients have stored. Calls `leftOut` with the path of
 * each skipped one and the reason.
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

/**
 * An event in a conversation that Lookfirst would have refused, or that the conversation's client
 * cannot undo.
 */
type AuditFinding = {
  readonly path: string;
  readonly callId: string;
  readonly atMs?: number;
} & (
  | {
      /**
       * `blind-overwrite`: a whole file was replaced although some of its lines were not shown. `outdated-edit`: the file
       * no longer matched what the model had last been shown. `shell-write`: a command wrote the file, so the client has no
       * copy of it.
       */
      readonly kind: 'blind-overwrite' | 'outdated-edit' | 'shell-write';
    }
  /** A command that can destroy work has run. `path`: the first path that it removes, or the folder where git works. */
  | ({ readonly kind: 'destroying-command' } & Omit<ReturnType<typeof destroyingCommands>[number], 'paths'>)
);

interface Audit {
  /** Undefined if the file has no records. */
  readonly format: FormatName | undefined;
  readonly changes: number;
  readonly commands: number;
  readonly findings: readonly AuditFinding[];
}

/** The format of a transcript is detected from at most this many records at its beginning. */
const DECIDING = 200;

/**
 * Audits a whole conversation with one record per line. Only facts that the transcript proves
 * count: a write is judged only if the transcript holds the file's earlier text. Throws
 * CONFIG_INVALID for an unknown format.
 */
export function auditTranscript(text: string, options: HistoryOptions): Audit {
  const records = text.split('\n').flatMap((line): JsonRecord[] => {
    const record = line.trim() === '' ? undefined : parseJson(line);
    return isRecord(record) ? [record] : [];
  });
  const auditor = new Auditor(options);
  if (records.length === 0) return { format: undefined, ...auditor.counted() };
  const format = detectFormat(records.slice(0, DECIDING));
  const read = formatNamed(format).open(new Fold(options, auditor));
  for (const record of records) read(record);
  return { format, ...auditor.counted() };
}

/** A command whose result has not been read yet. */
interface RanCommand {
  readonly line: ShellLine;
  readonly folder: string | undefined;
  readonly atMs: number | undefined;
}

type Found = AuditFinding extends infer Each
  ? Each extends AuditFinding
    ? Omit<Each, 'path' | 'callId' | 'atMs'>
    : never
  : never;

class Auditor implements FoldObserver {
  readonly #isOutput = outputTest({ policy: PRESETS.default });
  readonly #options: HistoryOptions;
  readonly #findings: AuditFinding[] = [];
  /** Commands without a result yet, and `answered` for those that have one: some clients record a call again. */
  readonly #ran = new Map<string, RanCommand | 'answered'>();
  #changes = 0;
  #commands = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  counted(): Omit<Audit, 'format'> {
    return { changes: this.#changes, commands: this.#commands, findings: this.#findings };
  }

  called(call: RecordedCall): void {
    const args = typeof call.args === 'string' ? parseJson(call.args) : call.args;
    for (const touch of touchesOf(usualRules(call.name) ?? [], isRecord(args) ? args : {}))
      if (touch.does === 'run') this.#run(touch, call);
  }

  answered(result: RecordedResult): void {
    const { id, ok, flagged, ended = ok && flagged, text } = result;
    const ran = this.#ran.get(id);
    if (ran === undefined || ran === 'answered') return;
    this.#ran.set(id, 'answered');
    if (!ended) return;
    for (const { paths, ...found } of destroyingCommands(ran.line, text)) {
      const path = paths
        .flatMap((given) => locate(given === '' ? '.' : given, ran.folder, this.#options) ?? [])
        .find((each) => this.#isOurs(each) && !(found.work === 'folders' && this.#isMade(each)));
      if (path !== undefined)
        this.#find({ kind: 'destroying-command', ...found }, path, { id, atMs: ran.atMs });
    }
  }

  changed({ access, result, latest }: ObservedChange): void {
    if (!this.#isOurs(access.path)) return;
    this.#changes += 1;
    const before = access.kind === 'write' ? result.before : result.edited?.before;
    if (typeof before !== 'string' || before === '') return;
    const compared = new ComparedText(before);
    if (
      access.kind === 'write' &&
      access.shown.size === Buffer.byteLength(before) &&
      isSame(access, compared)
    )
      return;
    const kind = access.kind === 'write' ? 'blind-overwrite' : 'outdated-edit';
    const isWrong = access.kind === 'write' ? !showAll(latest, compared) : isOutdated(latest, compared);
    if (isWrong) this.#find({ kind }, access.path, result);
  }

  #run(run: RunTouch, { id, atMs, cwd }: RecordedCall): void {
    this.#commands += 1;
    const folder = enterDirectory(cwd ?? this.#options.cwd, run.folder);
    const line = recordedLine(run.command);
    if (!this.#ran.has(id)) this.#ran.set(id, { line, folder, atMs });
    const writes = line.writes();
    const paths = writes.flatMap((write) => (write.certain && write.how !== 'patch' ? [write.path] : []));
    for (const given of new Set(paths)) {
      const path = locate(given, folder, this.#options);
      if (path !== undefined) this.#find({ kind: 'shell-write' }, path, { id, atMs });
    }
  }

  #find(found: Found, path: string, { id: callId, atMs }: Pick<RecordedResult, 'id' | 'atMs'>): void {
    if (!this.#isOurs(path)) return;
    this.#findings.push({ ...found, path, callId, ...(atMs === undefined ? {} : { atMs }) });
  }

  /** True for a folder that tools make again, such as `node_modules` and `dist`. */
  #isMade(path: string): boolean {
    return this.#isOutput(relative(this.#options.root ?? '/', path));
  }

  #isOurs(path: string): boolean {
    const { root } = this.#options;
    return root === undefined || isInside(root, path);
  }
}

/**
 * True if the old text has the written text at the same lines. If both also have the same size, the
 * write changes nothing.
 */
function isSame(
  access: Extract<ObservedChange['access'], { readonly kind: 'write' }>,
  before: ComparedText,
): boolean {
  return before.rangesShown({ shown: [access.shown] }).length > 0;
}

/** True if the parts of a file that the model was shown (`latest`) contain every line of a text. */
function showAll(latest: readonly SeenEntry[], text: ComparedText): boolean {
  const seen = new Set<number>();
  for (const { view } of latest)
    for (const { from, to } of text.rangesShown(view))
      for (let line = from; line <= to; line += 1) seen.add(line);
  return seen.size >= text.totalLines;
}

/**
 * True if the part of a file that the model was shown last contains text that the file no longer
 * has. False if the model was not shown the file.
 */
function isOutdated([newest]: readonly SeenEntry[], text: ComparedText): boolean {
  const shown = newest?.view.shown ?? [];
  return newest !== undefined && text.rangesShown(newest.view).length < shown.length;
}
