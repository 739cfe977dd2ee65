import type { FileKind } from '../../model/path.ts';
import type { InfoResult, ListResult, ReadResult } from '../../model/results.ts';
import type { Refusal } from '../../model/verdict.ts';
import { pathText } from '../../report/bounded.ts';
import type { ReadStyle, RenderContext } from '../render.ts';

/** Shows only the file's own text. */
export const RAW_STYLE: ReadStyle = {
  lines: 'raw',
  textOnly: true,
  foot: () => '',
  other: (result: ReadResult) =>
    `${pathText(result.path)} is not text (${result.media?.mimeType ?? 'application/octet-stream'}, ${formatSize(result.sizeBytes)}): use read_media_file`,
};

/** Shows the first lines of a file without a final newline, as the official filesystem server does. */
export const HEAD_STYLE: ReadStyle = { ...RAW_STYLE, lines: 'joined' };

/** Formats a size as the official filesystem server does: `1.50 KB`. */
export function formatSize(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const;
  if (bytes < 1024) return `${Math.max(bytes, 0)} B`;
  const power = Math.min(Math.floor(Math.log(bytes) / Math.log(1024)), units.length - 1);
  return `${(bytes / 1024 ** power).toFixed(2)} ${units[power]}`;
}

export function officialListing({ entries }: ListResult): string {
  // Append to one string: an array with a string per row would be slow for thousands of rows.
  let rows = '';
  for (const { path, kind } of entries) {
    rows += kind === 'directory' ? '\n[DIR] ' : '\n[FILE] ';
    rows += path;
  }
  return rows.slice(1);
}

/**
 * Lists entries with their sizes. For sorting by size, a folder has the size that `stat` reports,
 * as in the official filesystem server.
 */
export function sizesText({ entries }: ListResult, sortBy: 'name' | 'size'): string {
  const size = (entry: (typeof entries)[number]): number => entry.sizeBytes ?? 0;
  const order = entries.toSorted((a, b) =>
    sortBy === 'size' ? size(b) - size(a) : a.path.localeCompare(b.path),
  );
  const rows = order.map((entry) => {
    const shown = entry.kind === 'directory' ? '' : formatSize(size(entry)).padStart(10);
    return `${label(entry.kind)} ${entry.path.padEnd(30)} ${shown}`;
  });
  const folders = entries.filter(({ kind }) => kind === 'directory').length;
  const total = entries.reduce((sum, entry) => sum + (entry.kind === 'directory' ? 0 : size(entry)), 0);
  return [
    ...rows,
    '',
    `Total: ${entries.length - folders} files, ${folders} directories`,
    `Combined size: ${formatSize(total)}`,
  ].join('\n');
}

/**
 * A note about an incomplete listing; undefined if the listing is complete. Without the note, the
 * model would assume that nothing else is there.
 */
export function cutNote({ cut }: Pick<ListResult, 'cut'>): string | undefined {
  if (cut === 0) return undefined;
  const why = cut === undefined ? 'some folders could not be listed' : `${cut} or more entries are not shown`;
  return `[incomplete: ${why}]`;
}

export function withCutNote(text: string, result: Pick<ListResult, 'cut'>): string {
  const note = cutNote(result);
  return note === undefined ? text : `${text}\n${note}`;
}

export function infoText(info: InfoResult): string {
  return [
    `size: ${info.sizeBytes}`,
    `created: ${new Date(info.createdMs)}`,
    `modified: ${new Date(info.modifiedMs)}`,
    `accessed: ${new Date(info.accessedMs)}`,
    `isDirectory: ${info.kind === 'directory'}`,
    `isFile: ${info.kind === 'file'}`,
    `permissions: ${info.mode.toString(8).padStart(3, '0')}`,
  ].join('\n');
}

/** A fenced diff; the fence is longer than any run of backticks in the diff. */
export function diffText(given: string, diff: string, { roots }: Pick<RenderContext, 'roots'>): string {
  const path = absolutePath(given, roots);
  let fence = '```';
  while (diff.includes(fence)) fence += '`';
  const rows = diff === '' ? '' : `${diff.replace(/\n$/, '').replace(/^@@ .* @@$/gm, counted)}\n`;
  const header = `Index: ${path}\n${'='.repeat(67)}\n--- ${path}\toriginal\n+++ ${path}\tmodified\n`;
  return `${fence}diff\n${header}${rows}${fence}\n\n`;
}

/**
 * Adds the number of lines to a hunk's header even if that number is 1, as the official filesystem
 * server does.
 */
function counted(header: string): string {
  return header.replace(/(?<=[-+]\d+)(?= )/g, ',1');
}

function label(kind: FileKind): string {
  return kind === 'directory' ? '[DIR]' : '[FILE]';
}

/**
 * Resolves a path lexically, in the form that the official filesystem server uses in its errors.
 * Windows paths are returned as given.
 */
function absolutePath(given: string, [root = '']: readonly string[]): string {
  if (!root.startsWith('/')) return given;
  const names: string[] = [];
  for (const name of (given.startsWith('/') ? given : `${root}/${given}`).split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}

/** Output schema of tools that return one text, both as content and as structured content. */
export const TEXT_OUTPUT: { readonly type: 'object'; readonly [key: string]: unknown } = {
  type: 'object',
  properties: { content: { type: 'string' } },
  required: ['content'],
  additionalProperties: false,
};

type Foreword = (refusal: Refusal, context: RenderContext) => string | undefined;

const ON_THE_WAY: Readonly<Record<string, string>> = {
  ENOTDIR: 'ENOTDIR: not a directory',
  ELOOP: 'ELOOP: too many symbolic links encountered',
};

/**
 * Returns a function that gives the official filesystem server's message for a refusal, to be put
 * before Lookfirst's own message. The function returns undefined if the official server has no such
 * message.
 */
export function forewordFor(
  call: 'open' | 'scandir' | 'stat' | 'mkdir',
  more: Foreword = () => undefined,
): Foreword {
  return (refusal, context) => more(refusal, context) ?? general(call, refusal, context);
}

function general(call: string, refusal: Refusal, context: RenderContext): string | undefined {
  const shown = pathText(absolutePath(refusal.path, context.roots));
  const said = (errno: string): string => `${errno}, ${call} '${shown}'`;
  // Report problems in the folders of the path first, because the official filesystem server checks
  // the path before it does anything else.
  const onTheWay = ON_THE_WAY[refusal.detail?.errno ?? ''];
  if (onTheWay !== undefined) return `${onTheWay}, realpath '${shown}'`;
  switch (refusal.code) {
    case 'OUTSIDE_WORKSPACE':
      return `Access denied - path outside allowed directories: ${shown} not in ${context.roots.join(', ')}`;
    case 'NOT_FOUND':
    case 'DELETED':
      return said('ENOENT: no such file or directory');
    case 'NOT_A_FILE':
      if (call !== 'open') return said('ENOTDIR: not a directory');
      return refusal.detail?.kind === 'directory'
        ? 'EISDIR: illegal operation on a directory, read'
        : undefined;
    case 'ALREADY_EXISTS':
      return said('EEXIST: file already exists');
    default:
      return undefined;
  }
}

/**
 * Like `forewordFor`, for a refused move. The official filesystem server's message names the source
 * and the destination.
 */
export function moveForeword(source: string, destination: string): Foreword {
  return (refusal, context) => {
    const from = absolutePath(source, context.roots);
    const to = absolutePath(destination, context.roots);
    const both = `'${pathText(from)}' -> '${pathText(to)}'`;
    if (refusal.code === 'NOT_FOUND' || refusal.code === 'DELETED')
      return `ENOENT: no such file or directory, rename ${both}`;
    if (refusal.code === 'ALREADY_EXISTS' || from === to)
      return `Destination already exists: ${pathText(to)}`;
    return refusal.code === 'OUTSIDE_WORKSPACE' || refusal.code === 'NOT_A_FILE'
      ? general('rename', refusal, context)
      : undefined;
  };
}
