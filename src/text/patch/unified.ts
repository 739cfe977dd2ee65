import type { Edit, FileIntent } from '../../model/intent.ts';
import {
  contentOf,
  editOf,
  type HunkLine,
  hunkLine,
  namedTwice,
  type ParsedPatch,
  wrong,
} from './patched.ts';

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const NO_NEWLINE = '\\ No newline at end of file';
/**
 * Diff lines that announce a change which a text patch cannot describe, or which a text tool must
 * not make.
 */
const UNSUPPORTED: readonly [RegExp, string][] = [
  [/^(?:Binary files |GIT binary patch)/, 'a binary patch'],
  [/^@@@ /, 'a combined diff'],
  [/^(?:new|deleted) file mode 120000|^(?:old|new) mode 120000/, 'a symbolic link'],
  [/^(?:new|deleted) file mode 160000/, 'a submodule'],
  [/^(?:old|new|new file) mode (?!100(?:644|755)$)/, 'such a change of permissions'],
];

/** Parses a unified diff as written by `git diff` and `diff -u`. Wrong line counts make the whole patch invalid. */
export function parseUnified(text: string): ParsedPatch {
  const files = filesOf(text.replaceAll('\r\n', '\n').split('\n'));
  if (typeof files === 'string') return wrong(files);
  const changes: FileIntent[] = [];
  for (const file of files) {
    const change = patchedChange(file);
    if (typeof change === 'string') return wrong(change);
    changes.push(change);
  }
  if (changes.length === 0) return wrong('it changes no file');
  const twice = namedTwice(changes);
  return twice === undefined ? { ok: true, changes } : wrong(`it names ${twice} twice`);
}

interface UnifiedHunk {
  /** First line of the hunk in the old file. */
  readonly from: number;
  readonly lines: HunkLine[];
  oldLeft: number;
  newLeft: number;
  /** True if the hunk's last new line is the end of the new file and has no newline. */
  unended: boolean;
  /** True if the hunk's last old line is the end of the old file and has no newline. */
  wasUnended: boolean;
}

interface PatchedFile {
  /** File name in the `diff --git` row. */
  readonly git: string | undefined;
  /** The new file mode, as git writes it. */
  mode?: string;
  before: string | undefined;
  after: string | undefined;
  renamed: { from?: string; to?: string };
  readonly hunks: UnifiedHunk[];
}

function filesOf(lines: readonly string[]): PatchedFile[] | string {
  const files: PatchedFile[] = [];
  for (const line of lines) {
    const problem = takeRow(files, line);
    if (problem !== undefined) return problem;
  }
  const short = files.some(({ hunks }) => hunks.some(({ oldLeft, newLeft }) => oldLeft + newLeft > 0));
  return short ? 'a hunk has fewer lines than it says' : files;
}

function takeRow(files: PatchedFile[], line: string): string | undefined {
  const hunk = files.at(-1)?.hunks.at(-1);
  if (hunk !== undefined && (hunk.oldLeft > 0 || hunk.newLeft > 0)) return takeHunkLine(hunk, line);
  if (line === NO_NEWLINE) return void markUnended(hunk);
  if (line === '') return undefined;
  const unsupported = UNSUPPORTED.find(([pattern]) => pattern.test(line));
  if (unsupported !== undefined) return `${unsupported[1]} is not supported`;
  if (line.startsWith('diff --git ')) {
    const [, git] = /^diff --git a\/(.+) b\/\1$/.exec(line) ?? [];
    files.push({ git, before: undefined, after: undefined, renamed: {}, hunks: [] });
  } else if (line.startsWith('--- ')) beginFile(files, nameOf(line.slice(4), 'a/'));
  else return takeHeader(files.at(-1), line);
  return undefined;
}

/** Adds an entry for the file at its `---` row, unless a `diff --git` row has already added it. */
function beginFile(files: PatchedFile[], before: string): void {
  const last = files.at(-1);
  if (last !== undefined && last.before === undefined && last.hunks.length === 0) last.before = before;
  else files.push({ git: undefined, before, after: undefined, renamed: {}, hunks: [] });
}

function takeHeader(file: PatchedFile | undefined, line: string): string | undefined {
  if (line.startsWith('+++ ') && file !== undefined) file.after = nameOf(line.slice(4), 'b/');
  else if (/^new (?:file )?mode /.test(line) && file !== undefined) file.mode = line.slice(-3);
  else if (line.startsWith('rename from ') && file !== undefined) file.renamed.from = line.slice(12);
  else if (line.startsWith('rename to ') && file !== undefined) file.renamed.to = line.slice(10);
  else if (line.startsWith('@@')) return takeHunk(file, line);
  else if (/^[-+ ]/.test(line) && file !== undefined && file.hunks.length > 0)
    return 'a hunk has more lines than it says';
  return undefined;
}

function takeHunk(file: PatchedFile | undefined, line: string): string | undefined {
  const [, from, oldCount = '1', , newCount = '1'] = HUNK.exec(line) ?? [];
  if (from === undefined) return `not the head of a hunk: ${line.slice(0, 80)}`;
  if (file?.after === undefined || file.before === undefined) return 'a hunk comes before any file';
  file.hunks.push({
    from: Number(from),
    lines: [],
    oldLeft: Number(oldCount),
    newLeft: Number(newCount),
    unended: false,
    wasUnended: false,
  });
  return undefined;
}

function takeHunkLine(hunk: UnifiedHunk, line: string): string | undefined {
  if (line === NO_NEWLINE) return void markUnended(hunk);
  if (/^[-+]Subproject commit /.test(line)) return 'a submodule is not supported';
  const parsed = hunkLine(line);
  if (parsed === undefined) return 'a hunk has fewer lines than it says';
  const { sign } = parsed;
  if (sign !== '+') hunk.oldLeft -= 1;
  if (sign !== '-') hunk.newLeft -= 1;
  if (hunk.oldLeft < 0 || hunk.newLeft < 0) return 'a hunk has more lines than it says';
  hunk.lines.push(parsed);
  return undefined;
}

/** Handles the row "No newline at end of file", which refers to the previous line: an old one, a new one or both. */
function markUnended(hunk: UnifiedHunk | undefined): void {
  if (hunk === undefined) return;
  const sign = hunk.lines.at(-1)?.sign;
  if (sign !== '-') hunk.unended = true;
  if (sign !== '+') hunk.wasUnended = true;
}

/** The file name without the time that `diff` writes after a tab, and without git's prefix. */
function nameOf(text: string, prefix: string): string {
  const name = text.split('\t', 1)[0] ?? '';
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** The executable bit of the git mode; files without a mode row keep theirs. */
function executableOf({ mode }: PatchedFile): { readonly executable?: boolean } {
  return mode === undefined ? {} : { executable: mode === '755' };
}

function renameOf(file: PatchedFile, from: string, to: string): FileIntent | string {
  if (file.hunks.length === 0 && file.mode === undefined)
    return { kind: 'move', source: from, destination: to };
  const edits = editsOf(file, to);
  return typeof edits === 'string'
    ? edits
    : { kind: 'edit', path: from, edits, moveTo: to, ...executableOf(file) };
}

function patchedChange(file: PatchedFile): FileIntent | string {
  const { from, to } = file.renamed;
  if (from !== undefined && to !== undefined) return renameOf(file, from, to);
  const { before, after, hunks } = file;
  if (before === undefined && file.git !== undefined && file.mode !== undefined)
    return { kind: 'edit', path: file.git, edits: [], ...executableOf(file) };
  if (before === undefined || after === undefined) return 'a file without --- and +++ rows';
  if (after === '/dev/null') return { kind: 'delete', path: before, only: 'file' };
  const lines = hunks.flatMap((hunk) => hunk.lines);
  if (before === '/dev/null') {
    const mode = file.mode === '755' ? { mode: 0o755 } : {};
    const unended = hunks.at(-1)?.unended === true;
    return {
      kind: 'write',
      path: after,
      content: unended ? contentOf(lines).replace(/\n$/, '') : contentOf(lines),
      ...mode,
    };
  }
  if (before !== after) return `${before} and ${after} are two names: a rename needs its "rename from" rows`;
  if (hunks.length === 0) return `${after}: no hunk`;
  const edits = editsOf(file, after);
  return typeof edits === 'string' ? edits : { kind: 'edit', path: after, edits, ...executableOf(file) };
}

function placeOf({ from, unended, wasUnended }: UnifiedHunk): NonNullable<Edit['lines']> {
  const near = Math.max(1, from);
  if (unended) return { near, unended };
  return wasUnended ? { near, ended: true } : { near };
}

function editsOf({ hunks }: PatchedFile, path: string): Edit[] | string {
  const edits = hunks.map((hunk) => editOf(hunk.lines, placeOf(hunk)));
  return edits.some(({ oldString }) => oldString === '') ? `${path}: a hunk needs lines around it` : edits;
}
