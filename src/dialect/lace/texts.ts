import type { ListResult, ReadResult, SearchResult } from '../../model/results.ts';
import { pathText } from '../../report/bounded.ts';
import { relativeTime } from '../../report/relative-time.ts';
import type { ReadStyle } from '../read-style.ts';
import type { RenderContext } from '../render.ts';
import { nameMatcher } from './name-matcher.ts';

/** `cat -n` with numbers flush right; says so if there is more. */
export const READ_STYLE: ReadStyle = {
  lines: 'padded',
  foot: (result) => {
    const { from, to, totalLines } = result;
    if (to === 0 || (from === 1 && to === totalLines)) return '';
    return `\n\n[lines ${from}-${to}${totalLines === undefined ? '' : ` of ${totalLines}`}; use startLine and endLine for others]`;
  },
  other: (result: ReadResult) =>
    `${pathText(result.path)} is not text: ${result.media?.mimeType ?? 'application/octet-stream'}, ${sizeText(result.sizeBytes)}`,
};

/** `5 bytes`, `1.5 KB`, as that system writes sizes. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const units = ['KB', 'MB', 'GB'] as const;
  const power = Math.min(Math.floor(Math.log(bytes) / Math.log(1024)), units.length);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power - 1]}`;
}

export interface FindQuery {
  readonly pattern: string;
  /** Folder as it was asked for; paths are shown below it. */
  readonly path: string;
  readonly includeHidden: boolean;
  readonly maxResults: number;
}

/** Entries whose own name matches, newest first; folders, whose times are not asked for, last. */
export function findText(query: FindQuery, result: ListResult, context: RenderContext): string {
  const matches = nameMatcher(query.pattern);
  const found = result.entries
    .filter(({ path }) => query.includeHidden || !path.split('/').some((name) => name.startsWith('.')))
    .filter(({ path }) => matches(path.slice(path.lastIndexOf('/') + 1)))
    .toSorted((a, b) => (b.mtimeMs ?? 0) - (a.mtimeMs ?? 0));
  if (found.length === 0) return `No files found matching pattern: ${query.pattern}`;
  const folder = query.path === '.' ? '' : `${query.path.replace(/\/+$/, '')}/`;
  const rows = found.slice(0, query.maxResults).map(({ path, kind, sizeBytes, mtimeMs }) => {
    const name = pathText(`${folder}${path}`);
    if (kind === 'directory') return `${name}/`;
    const when = mtimeMs === undefined ? '' : ` - ${relativeTime(mtimeMs, context.nowMs)}`;
    return sizeBytes === undefined ? name : `${name} (${sizeText(sizeBytes)})${when}`;
  });
  if (found.length > query.maxResults)
    rows.push(`\nResults limited to ${query.maxResults}. Use maxResults parameter to see more.`);
  return rows.join('\n');
}

/** Matches grouped by file, with numbered lines. */
export function searchText(pattern: string, result: SearchResult): string {
  if (result.hits.length === 0)
    return `No matches found for pattern: ${pattern}${result.truncated ? ' in what could be searched' : ''}`;
  const { matches } = result;
  const rows = [`Found ${matches} match${matches === 1 ? '' : 'es'}:\n`];
  if (result.truncated) rows.push('Results limited. Use maxResults parameter to see more.\n');
  for (const [path, hits] of byFile(result)) {
    const width = String(hits.at(-1)?.line ?? 1).length;
    rows.push(
      `${pathText(path)}:`,
      ...hits.map(({ line, text }) => `${String(line).padStart(width)}\t${text}`),
      '',
    );
  }
  return rows.join('\n');
}

function byFile({ hits }: SearchResult): ReadonlyMap<string, SearchResult['hits']> {
  const files = new Map<string, SearchResult['hits'][number][]>();
  for (const hit of hits) {
    const known = files.get(hit.path);
    if (known === undefined) files.set(hit.path, [hit]);
    else known.push(hit);
  }
  return files;
}
