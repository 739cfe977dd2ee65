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
  [/^(?:old|new|new file) mode (?!100(?:644|755)$)/, 'a file mode other than 100644 and 100755'],
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
  /**
   * The report of git's header rows. `after`: the file is new. `before`: the file was deleted. Needed for
   * empty files, for which git writes no other rows.
   */
  exists?: 'after' | 'before';
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
  return short ? 'a hunk has fewer lines than its @@ row says' : files;
}

function takeRow(files: PatchedFile[], line: string): string | undefined {
  const hunk = files.at(-1)?.hunks.at(-1);
  if (hunk !== undefined && (hunk.oldLeft > 0 || hunk.newLeft > 0)) return takeHunkLine(hunk, line);
  if (line === NO_NEWLINE) return void markUnended(hunk);
  // `git format-patch` ends a patch with `-- ` and its version.
  if (line === '' || /^-- ?$/.test(line)) return undefined;
  const unsupported = UNSUPPORTED.find(([pattern]) => pattern.test(line));
  if (unsupported !== undefined) return `${unsupported[1]} is not supported`;
  if (line.startsWith('diff --git ')) {
    files.push({ git: gitName(line.slice(11)), before: undefined, after: undefined, renamed: {}, hunks: [] });
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
  else if (/^(?:new|deleted) (?:file )?mode /.test(line) && file !== undefined) takeMode(file, line);
  else if (line.startsWith('rename from ') && file !== undefined)
    file.renamed.from = unquoted(line.slice(12));
  else if (line.startsWith('rename to ') && file !== undefined) file.renamed.to = unquoted(line.slice(10));
  else if (line.startsWith('@@')) return takeHunk(file, line);
  else if (/^[-+ ]/.test(line) && file !== undefined && file.hunks.length > 0)
    return 'a hunk has more lines than its @@ row says';
  return undefined;
}

function takeMode(file: PatchedFile, line: string): void {
  if (line.startsWith('deleted')) file.exists = 'before';
  else file.mode = line.slice(-3);
  if (line.startsWith('new file')) file.exists = 'after';
}

function takeHunk(file: PatchedFile | undefined, line: string): string | undefined {
  const [, from, oldCount = '1', , newCount = '1'] = HUNK.exec(line) ?? [];
  if (from === undefined)
    return `a hunk begins with "@@ -LINE,COUNT +LINE,COUNT @@", not with: ${line.slice(0, 80)}`;
  if (file?.after === undefined || file.before === undefined)
    return 'a hunk comes before the --- and +++ rows of its file';
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
  if (parsed === undefined) return 'a hunk has fewer lines than its @@ row says';
  const { sign } = parsed;
  if (sign !== '+') hunk.oldLeft -= 1;
  if (sign !== '-') hunk.newLeft -= 1;
  if (hunk.oldLeft < 0 || hunk.newLeft < 0) return 'a hunk has more lines than its @@ row says';
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
  const name = unquoted(text.split('\t', 1)[0] ?? '');
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** The name in a `diff --git` row; undefined if the row has two different names. */
function gitName(names: string): string | undefined {
  const [, plain] = /^a\/(.+) b\/\1$/.exec(names) ?? [];
  const [, before, after] = /^("a\/.+") ("b\/.+")$/.exec(names) ?? [];
  if (before === undefined || after === undefined) return plain;
  const name = nameOf(before, 'a/');
  return name === nameOf(after, 'b/') ? name : undefined;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
};

/** A file name without git's quotes. Git quotes names with unusual characters and writes their bytes as octal numbers. */
function unquoted(name: string): string {
  const [, quoted] = /^"(.*)"$/.exec(name) ?? [];
  if (quoted === undefined) return name;
  const bytes = Buffer.from(quoted, 'utf8').toString('latin1');
  const plain = bytes.replace(/\\([0-3][0-7]{2}|.)/g, (_escape, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (ESCAPES[code] ?? code),
  );
  return Buffer.from(plain, 'latin1').toString('utf8');
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
  if (before === undefined && file.git !== undefined) return withoutHunks(file, file.git);
  if (before === undefined || after === undefined) return NO_ROWS;
  if (after === '/dev/null') return { kind: 'delete', path: before, only: 'file', ...removedText(hunks) };
  if (before === '/dev/null') return newFile(file, after);
  if (before !== after)
    return `the --- and +++ rows name different files (${before}, ${after}); a rename needs "rename from" and "rename to" rows`;
  if (hunks.length === 0) return `${after} has no hunk`;
  const edits = editsOf(file, after);
  return typeof edits === 'string' ? edits : { kind: 'edit', path: after, edits, ...executableOf(file) };
}

const NO_ROWS = 'a file has no --- and +++ rows';

/** The text of a deleted file: a patch that deletes a file lists all of its lines. */
function removedText(hunks: readonly UnifiedHunk[]): { readonly content?: string } {
  if (hunks.length === 0) return {};
  const lines = hunks.flatMap((hunk) => hunk.lines.filter(({ sign }) => sign !== '+'));
  return { content: lines.map(({ text }) => `${text}\n`).join('') };
}

/** The change of a file about which git wrote only header rows: an empty file, or a change of mode. */
function withoutHunks(file: PatchedFile, path: string): FileIntent | string {
  if (file.exists === 'before') return { kind: 'delete', path, only: 'file' };
  if (file.exists === 'after') return newFile(file, path);
  return file.mode === undefined ? NO_ROWS : { kind: 'edit', path, edits: [], ...executableOf(file) };
}

function newFile({ hunks, mode }: PatchedFile, path: string): FileIntent {
  const content = contentOf(hunks.flatMap((hunk) => hunk.lines));
  return {
    kind: 'write',
    path,
    content: hunks.at(-1)?.unended === true ? content.replace(/\n$/, '') : content,
    ...(mode === '755' ? { mode: 0o755 } : {}),
  };
}

function placeOf({ unended, wasUnended }: UnifiedHunk, near: number): NonNullable<Edit['lines']> {
  if (unended) return { near, unended };
  return wasUnended ? { near, ended: true } : { near };
}

function editsOf({ hunks }: PatchedFile, path: string): Edit[] | string {
  // Each edit is applied to the result of the earlier ones, which have moved the lines after them.
  let moved = 0;
  const edits = hunks.map((hunk) => {
    const edit = editOf(hunk.lines, placeOf(hunk, Math.max(1, hunk.from + moved)));
    for (const { sign } of hunk.lines) moved += sign === '+' ? 1 : sign === '-' ? -1 : 0;
    return edit;
  });
  return edits.some(({ oldString }) => oldString === '')
    ? `${path}: a hunk needs at least one unchanged or removed line`
    : edits;
}
