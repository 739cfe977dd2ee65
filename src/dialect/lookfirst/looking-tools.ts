import { defined } from '../../model/record.ts';
import type { ReadResult } from '../../model/results.ts';
import { objectOf } from '../../model/shape.ts';
import { byteSize, lineWords } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { explain } from '../../report/explain.ts';
import type { Results } from '../operation.ts';
import {
  type ContentBlock,
  type ReadStyle,
  type RenderContext,
  type Rendered,
  styledText,
} from '../render.ts';
import { flag, integer, lookingTool, problem, string, type Tool } from '../tool.ts';
import { findAnswer, listAnswer, searchAnswer, statusText } from './looking-text.ts';

const ALL_LINES = Number.MAX_SAFE_INTEGER;
/** Maximum total bytes of several files in one answer; a file that no longer fits is refused. */
const MAX_TOGETHER = 256 << 10;
const PATH = 'Relative to the workspace root, or absolute inside it.';
const FOLDER = 'Folder; default: the workspace root.';

/** The tools that change nothing. */
export const LOOKING_TOOLS: readonly Tool[] = [
  lookingTool({
    name: 'read_file',
    title: 'Read a file',
    description:
      'Read a text file, whole or in part (2000 lines by default). Lines come as "N<TAB>text"; numbers and tabs are not part of the file. ' +
      'The last line is a receipt; it carries a revision once all of the file has been seen. Images are shown, other binary files described.',
    inputSchema: objectOf({
      path: string(PATH),
      paths: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        description: 'Several files to read whole, instead of path.',
      },
      offset: integer('First line to read, counted from 1.'),
      limit: integer('How many lines to read.'),
    }),
    call: ({ path, paths, ...lines }) => {
      if (path !== undefined && paths === undefined)
        return { kind: 'read', operation: { path, ...lines }, style: RECEIPT_STYLE };
      if (path !== undefined || paths === undefined) return problem('give either path or paths');
      if (Object.keys(lines).length > 0) return problem('offset and limit are for a single path');
      return {
        kind: 'read-many',
        operation: { paths, each: { limit: ALL_LINES }, together: MAX_TOGETHER },
        render: manyText,
      };
    },
  }),
  lookingTool({
    name: 'list_directory',
    title: 'List a folder',
    description:
      'List what is in a folder, with kinds and sizes. A folder listed in full may be deleted afterwards. The answer says if entries are missing.',
    inputSchema: objectOf({
      path: string(FOLDER),
      depth: integer('How many levels of folders to show; default 1.'),
      after: string('Continue a listing that was cut, after this name; not with depth.'),
    }),
    call: (args) => ({
      kind: 'list',
      operation: args,
      render: (result, context) => listAnswer(result, context, args.depth),
    }),
  }),
  lookingTool({
    name: 'find_files',
    title: 'Find files by name',
    description:
      'Find files whose path matches a glob, newest first. Files that .gitignore names are left out. A pattern without "/" matches names in any folder.',
    inputSchema: objectOf(
      {
        pattern: string('Glob, such as "*.ts" or "src/**/*.test.ts".'),
        path: string(FOLDER),
      },
      ['pattern'],
    ),
    call: (operation) => ({
      kind: 'find',
      operation,
      render: (result) => findAnswer(operation.pattern, result),
    }),
  }),
  lookingTool({
    name: 'search_text',
    title: 'Search in files',
    description:
      'Search file contents with a regular expression (ripgrep). Files that .gitignore names and binary files are left out. ' +
      'Finding a line is not reading the file: read it before changing it.',
    inputSchema: objectOf(
      {
        pattern: string('Regular expression in Rust syntax.'),
        path: string('File or folder; default: the workspace root.'),
        glob: string('Only files that match, such as "*.ts".'),
        mode: {
          type: 'string',
          enum: ['lines', 'files', 'count'],
          description: 'Matching lines (default), files, or matches per file.',
        },
        context: integer('Lines around each match.', { minimum: 0 }),
        ignore_case: flag('Ignore case.'),
        literal: flag('The pattern is plain text.'),
      },
      ['pattern'],
    ),
    call: ({ ignore_case: ignoreCase, ...search }) => ({
      kind: 'search',
      operation: { ...search, ...defined({ ignoreCase }) },
      render: (result) => searchAnswer(search.pattern, result),
    }),
  }),
  lookingTool({
    name: 'file_status',
    title: 'What was seen of a file',
    description:
      'Show what this session has seen of a file and whether it changed since; without a path, of every file.',
    inputSchema: objectOf({ path: { type: 'string' } }),
    call: (operation) => ({ kind: 'status', operation, render: statusText }),
  }),
];

/** Numbered lines, then one receipt line that says what was shown. */
export const RECEIPT_STYLE: ReadStyle = {
  lines: 'numbered',
  foot: (result) => {
    const rows = [...notes(result), receipt(result)];
    return result.to === 0 ? rows.join('\n') : `\n${rows.join('\n')}`;
  },
  other: notText,
};

/**
 * The receipt line: `[read PATH lines A-B of N revision R]`. It has a revision only if the session has seen the
 * whole file.
 */
function receipt(result: ReadResult): string {
  const { path, from, to, totalLines, revision, sizeBytes } = result;
  const total = totalLines === undefined ? `a ${byteSize(sizeBytes)} file` : String(totalLines);
  const proof = revision === undefined ? '' : ` revision ${revision}`;
  return `[read ${pathText(path)} lines ${from}-${to} of ${total}${proof}]`;
}

function notes(result: ReadResult): string[] {
  if (result.to === 0) return ['(the file is empty)'];
  const { clamped, encoding } = result;
  const lines: string[] = [];
  if (encoding.startsWith('utf-16')) lines.push(`(the file is ${encoding}; changes keep that encoding)`);
  else if (encoding !== 'utf-8')
    lines.push(`(the file is ${encoding}; edits keep that encoding, a whole write is UTF-8)`);
  if (clamped.length > 0) {
    const cut = lineWords(clamped.map((line) => ({ from: line, to: line })));
    lines.push(`(${cut}: only the beginning is shown, and reading again will not show more)`);
  }
  return lines;
}

/** The text for several files, each in the form of a single read. A refused file is replaced by an explanation. */
function manyText({ files }: Results['read-many'], context: RenderContext): Rendered {
  const shown = files.map(({ outcome }): Rendered => {
    if (!outcome.ok) return explain(outcome.refusal, context);
    return outcome.media === undefined ? styledText(outcome, RECEIPT_STYLE, context) : notText(outcome);
  });
  if (shown.every((one) => typeof one === 'string')) return shown.join('\n\n');
  return shown.flatMap((one) => (typeof one === 'string' ? [{ type: 'text' as const, text: one }] : one));
}

/** Shows images and audio, and describes everything else that is not text. */
export function notText(result: ReadResult): Rendered {
  const { path, sizeBytes, media } = result;
  const mimeType = media?.mimeType ?? 'application/octet-stream';
  const text =
    `${pathText(path)} is not text: ${mimeType}, ${byteSize(sizeBytes)}. It can be moved or deleted, not edited.\n` +
    `[read ${pathText(path)} as ${mimeType}, ${sizeBytes} bytes]`;
  const block = media?.base64 === undefined ? undefined : mediaBlock(mimeType, media.base64);
  return block === undefined ? text : [{ type: 'text', text }, block];
}

function mediaBlock(mimeType: string, data: string): ContentBlock | undefined {
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  return mimeType.startsWith('audio/') ? { type: 'audio', data, mimeType } : undefined;
}
