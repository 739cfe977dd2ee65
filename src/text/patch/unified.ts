import type { FileIntent } from '../../model/intent.ts';
import { defined } from '../../model/record.ts';
import { editOf, type HunkLine, hunkLine, type ParsedPatch, patchOf, signedText, wrong } from './patched.ts';

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
  const files: PatchedFile[] = [];
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const problem = takeRow(files, line);
    if (problem !== undefined) return wrong(problem);
  }
  if (files.some(({ hunks }) => hunks.some(isOpen))) return wrong(TOO_FEW);
  return patchOf(files.map(patchedChange), 'it changes no file');
}

const TOO_FEW = 'a hunk has fewer lines than its @@ row says';
const TOO_MANY = 'a hunk has more lines than its @@ row says';

interface UnifiedHunk {
  /** First line of the hunk in the old file. */
  readonly from: number;
  readonly lines: HunkLine[];
  oldLeft: number;
  newLeft: number;
  /** True if the hunk's last new line is the end of the new file and has no newline. */
  unended?: boolean;
  /** True if the hunk's last old line is the end of the old file and has no newline. */
  wasUnended?: boolean;
}

interface PatchedFile {
  /** File name in the `diff --git` row. */
  readonly git?: string | undefined;
  /** The new file mode, as git writes it. */
  mode?: string;
  /**
   * The report of git's header rows. `after`: the file is new. `before`: the file was deleted. Needed for
   * empty files, for which git writes no other rows.
   */
  exists?: 'after' | 'before';
  before?: string;
  after?: string;
  /** The names in git's rows for a renamed file. */
  from?: string;
  to?: string;
  readonly hunks: UnifiedHunk[];
}

/** Rows above the hunks of a file that say something about it. */
const HEADERS: readonly (readonly [RegExp, (value: string) => Partial<PatchedFile>])[] = [
  [/^\+\+\+ (.*)/, (name) => ({ after: nameOf(name, 'b/') })],
  [/^deleted (?:file )?mode /, () => ({ exists: 'before' })],
  [/^new file mode .*(...)$/, (mode) => ({ mode, exists: 'after' })],
  [/^new mode .*(...)$/, (mode) => ({ mode })],
  [/^rename from (.*)/, (name) => ({ from: unquoted(name) })],
  [/^rename to (.*)/, (name) => ({ to: unquoted(name) })],
];

function takeRow(files: PatchedFile[], line: string): string | undefined {
  const file = files.at(-1);
  const hunk = file?.hunks.at(-1);
  if (line === NO_NEWLINE) return void markUnended(hunk);
  if (hunk !== undefined && isOpen(hunk)) return takeHunkLine(hunk, line);
  // `git format-patch` ends a patch with `-- ` and its version.
  if (line === '' || /^-- ?$/.test(line)) return undefined;
  const unsupported = UNSUPPORTED.find(([pattern]) => pattern.test(line));
  if (unsupported !== undefined) return `${unsupported[1]} is not supported`;
  if (line.startsWith('diff --git ')) files.push({ git: gitName(line.slice(11)), hunks: [] });
  else if (line.startsWith('--- ')) beginFile(files, nameOf(line.slice(4), 'a/'));
  else if (line.startsWith('@@')) return takeHunk(file, line);
  else if (file !== undefined) return takeHeader(file, line);
  return undefined;
}

function isOpen({ oldLeft, newLeft }: UnifiedHunk): boolean {
  return oldLeft + newLeft > 0;
}

/** Adds an entry for the file at its `---` row, unless a `diff --git` row has already added it. */
function beginFile(files: PatchedFile[], before: string): void {
  const last = files.at(-1);
  if (last !== undefined && last.before === undefined && last.hunks.length === 0) last.before = before;
  else files.push({ before, hunks: [] });
}

function takeHeader(file: PatchedFile, line: string): string | undefined {
  for (const [pattern, facts] of HEADERS) {
    const found = pattern.exec(line);
    if (found !== null) return void Object.assign(file, facts(found[1] ?? ''));
  }
  return /^[-+ ]/.test(line) && file.hunks.length > 0 ? TOO_MANY : undefined;
}

function takeHunk(file: PatchedFile | undefined, line: string): string | undefined {
  const [, from, oldCount = '1', , newCount = '1'] = HUNK.exec(line) ?? [];
  if (from === undefined)
    return `a hunk begins with "@@ -LINE,COUNT +LINE,COUNT @@", not with: ${line.slice(0, 80)}`;
  if (file?.after === undefined || file.before === undefined)
    return 'a hunk comes before the --- and +++ rows of its file';
  file.hunks.push({ from: Number(from), lines: [], oldLeft: Number(oldCount), newLeft: Number(newCount) });
  return undefined;
}

function takeHunkLine(hunk: UnifiedHunk, line: string): string | undefined {
  if (/^[-+]Subproject commit /.test(line)) return 'a submodule is not supported';
  const parsed = hunkLine(line);
  if (parsed === undefined) return TOO_FEW;
  const { sign } = parsed;
  if (sign !== '+') hunk.oldLeft -= 1;
  if (sign !== '-') hunk.newLeft -= 1;
  if (hunk.oldLeft < 0 || hunk.newLeft < 0) return TOO_MANY;
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

const NO_ROWS = 'a file has no --- and +++ rows';

function patchedChange(file: PatchedFile): FileIntent | string {
  const { from, to, before, after, git, hunks } = file;
  if (from !== undefined && to !== undefined) {
    const isMove = hunks.length === 0 && file.mode === undefined;
    return isMove ? { kind: 'move', source: from, destination: to } : edited(file, from, to);
  }
  if (before === undefined && git !== undefined) return withoutHunks(file, git);
  if (before === undefined || after === undefined) return NO_ROWS;
  // A patch that deletes a file lists all of its lines.
  if (after === '/dev/null') {
    const content = signedText(
      hunks.flatMap(({ lines }) => lines),
      ' -',
    );
    return { kind: 'delete', path: before, only: 'file', ...(hunks.length === 0 ? {} : { content }) };
  }
  if (before === '/dev/null') return newFile(file, after);
  if (before !== after)
    return `the --- and +++ rows name different files (${before}, ${after}); a rename needs "rename from" and "rename to" rows`;
  return hunks.length === 0 ? `${after} has no hunk` : edited(file, after);
}

/** The change of a file that has only git's header rows: an empty file, or a change of mode. */
function withoutHunks(file: PatchedFile, path: string): FileIntent | string {
  if (file.exists === 'before') return { kind: 'delete', path, only: 'file' };
  if (file.exists === 'after') return newFile(file, path);
  return file.mode === undefined ? NO_ROWS : edited(file, path);
}

function newFile({ hunks, mode }: PatchedFile, path: string): FileIntent {
  const content = signedText(
    hunks.flatMap(({ lines }) => lines),
    '+',
  );
  return {
    kind: 'write',
    path,
    content: hunks.at(-1)?.unended === true ? content.replace(/\n$/, '') : content,
    ...(mode === '755' ? { mode: 0o755 } : {}),
  };
}

/** The edits of a file, also of its executable bit. Without a row for its mode, a file keeps that. */
function edited({ hunks, mode }: PatchedFile, path: string, moveTo?: string): FileIntent | string {
  // Each edit is applied to the result of the earlier ones, which have moved the lines after them.
  let moved = 0;
  const edits = hunks.map((hunk) => {
    const near = Math.max(1, hunk.from + moved);
    const end = hunk.unended ? { unended: true } : hunk.wasUnended ? { ended: true } : {};
    for (const { sign } of hunk.lines) moved += sign === '+' ? 1 : sign === '-' ? -1 : 0;
    return editOf(hunk.lines, { near, ...end });
  });
  if (edits.some(({ oldString }) => oldString === ''))
    return `${moveTo ?? path}: a hunk needs at least one unchanged or removed line`;
  const executable = mode === undefined ? undefined : mode === '755';
  return { kind: 'edit', path, edits, ...defined({ moveTo, executable }) };
}
