import type { ListedEntry, ListResult, SearchResult } from '../../model/results.ts';
import { countOf, relativeTime } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { wildcardMatcher } from '../../text/glob/segment.ts';
import type { RenderContext } from '../render.ts';

interface FindQuery {
  readonly pattern: string;
  /** The requested folder, which is put before every path that is shown. */
  readonly path: string;
  readonly includeHidden: boolean;
  readonly maxResults: number;
}

/** Formats a size as in the system that this dialect imitates: `5 bytes`, `1.5 KB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return countOf(bytes, 'byte');
  const units = ['KB', 'MB', 'GB'] as const;
  const power = Math.min(Math.floor(Math.log(bytes) / Math.log(1024)), units.length);
  return `${Number((bytes / 1024 ** power).toFixed(1))} ${units[power - 1]}`;
}

/**
 * The text for a search by name: matching entries, newest first. Folders come last, because their
 * times are not read.
 */
export function laceFindText(query: FindQuery, result: ListResult, context: RenderContext): string {
  const matches = wildcardMatcher(query.pattern);
  const found = result.entries
    .filter(({ path }) => query.includeHidden || !path.split('/').some((name) => name.startsWith('.')))
    .filter(({ path }) => matches(path.slice(path.lastIndexOf('/') + 1)))
    .toSorted((a, b) => (b.mtimeMs ?? 0) - (a.mtimeMs ?? 0));
  // If the listing was cut, the text must say so. Otherwise the model would assume that no other
  // file matches.
  const isCut = result.cut !== 0;
  if (found.length === 0)
    return `No files found matching pattern: ${query.pattern}${isCut ? ' in the part that was searched' : ''}`;
  const folder = query.path === '.' ? '' : `${query.path.replace(/\/+$/, '')}/`;
  const rows = found.slice(0, query.maxResults).map(({ path, kind, sizeBytes, mtimeMs }) => {
    const name = pathText(`${folder}${path}`);
    if (kind === 'directory') return `${name}/`;
    const when = mtimeMs === undefined ? '' : ` - ${relativeTime(mtimeMs, context.nowMs)}`;
    return sizeBytes === undefined ? name : `${name} (${sizeText(sizeBytes)})${when}`;
  });
  if (found.length > query.maxResults)
    rows.push(`\nResults limited to ${query.maxResults}. Use maxResults parameter to see more.`);
  if (isCut) rows.push('\nSome folders could not be searched. Name a folder to search in.');
  return rows.join('\n');
}

/** The text for a search in files: matches grouped by file, with numbered lines. */
export function laceSearchText(pattern: string, result: SearchResult): string {
  if (result.hits.length === 0)
    return `No matches found for pattern: ${pattern}${result.truncated ? ' in the part that was searched' : ''}`;
  const { matches } = result;
  const rows = [`Found ${countOf(matches, 'match')}:\n`];
  if (result.unreadable === true) rows.push('Some files or folders could not be searched.\n');
  else if (result.truncated) rows.push('Results limited. Use maxResults parameter to see more.\n');
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

/** Folders whose entries are counted instead of listed. */
const SUMMARISED: ReadonlySet<string> = new Set([
  'node_modules',
  '.git',
  'dist',
  'build',
  'coverage',
  '.next',
  '.nuxt',
  'vendor',
  'venv',
  '.venv',
  '__pycache__',
]);

interface TreeOptions {
  /** Name of the listed folder, shown in the first row. */
  readonly name: string;
  readonly pattern?: string;
  readonly includeHidden: boolean;
  readonly depth: number;
  readonly summaryThreshold: number;
  readonly maxResults: number;
  /** True if the listing does not have all entries. */
  readonly isCut: boolean;
}

interface Node {
  readonly name: string;
  readonly folder: boolean;
  readonly sizeBytes?: number;
  readonly children: Node[];
}

/**
 * A folder's entries as a tree. The entries of very large folders, and of folders such as
 * `node_modules`, are counted instead of listed.
 */
export function treeText(entries: readonly ListedEntry[], options: TreeOptions): string {
  const root = treeOf(options.name, entries);
  const budget = { left: options.maxResults, cut: false };
  const matches = options.pattern === undefined ? () => true : wildcardMatcher(options.pattern);
  const rows = childRows(root, { options, matches, budget, depth: 1, indent: '' });
  const tree = rows.length === 0 ? 'No files found' : [`${root.name}/`, ...rows].join('\n');
  const limited = `\n\nResults limited to ${options.maxResults}. Use maxResults parameter to see more.`;
  const missing = '\n\nSome entries could not be listed. Name a folder to list.';
  return tree + (budget.cut ? limited : '') + (options.isCut ? missing : '');
}

function treeOf(name: string, entries: readonly ListedEntry[]): Node {
  const root: Node = { name, folder: true, children: [] };
  const folders = new Map<string, Node>([['', root]]);
  for (const { path, kind, sizeBytes } of entries) {
    const slash = path.lastIndexOf('/');
    const size = sizeBytes === undefined ? {} : { sizeBytes };
    const node: Node = { name: path.slice(slash + 1), folder: kind === 'directory', children: [], ...size };
    folders.get(path.slice(0, Math.max(slash, 0)))?.children.push(node);
    if (node.folder) folders.set(path, node);
  }
  return root;
}

interface Place {
  readonly options: TreeOptions;
  readonly matches: (name: string) => boolean;
  readonly budget: { left: number; cut: boolean };
  readonly depth: number;
  readonly indent: string;
}

function childRows(parent: Node, place: Place): string[] {
  const { budget, indent } = place;
  const shown = sorted(parent.children).filter((node) => isWanted(node, place, place.depth));
  const rows: string[] = [];
  for (const [index, node] of shown.entries()) {
    if (budget.left <= 0) {
      budget.cut = true;
      break;
    }
    budget.left -= 1;
    const last = index === shown.length - 1;
    rows.push(`${indent}${last ? '└ ' : '├ '}${labelOf(node, place)}`);
    if (descends(node, place))
      rows.push(
        ...childRows(node, { ...place, depth: place.depth + 1, indent: `${indent}${last ? '  ' : '│ '}` }),
      );
  }
  return rows;
}

function sorted(nodes: readonly Node[]): Node[] {
  return nodes.toSorted((a, b) => Number(b.folder) - Number(a.folder) || a.name.localeCompare(b.name));
}

/**
 * True if a node is shown: its own name matches the pattern, or a shown name below it does. Hidden
 * names are shown only with `includeHidden`.
 */
function isWanted(node: Node, place: Place, depth: number): boolean {
  const { options, matches } = place;
  if (!options.includeHidden && node.name.startsWith('.')) return false;
  if (matches(node.name)) return true;
  return depth < options.depth && node.children.some((child) => isWanted(child, place, depth + 1));
}

function labelOf(node: Node, place: Place): string {
  if (!node.folder)
    return node.sizeBytes === undefined ? node.name : `${node.name} (${node.sizeBytes} bytes)`;
  if (!isSummarised(node, place)) return `${node.name}/`;
  const { files, folders } = counts(node);
  return `${node.name}/ (${files} files; ${folders} dirs)`;
}

function descends(node: Node, place: Place): boolean {
  return node.folder && place.depth < place.options.depth && !isSummarised(node, place);
}

function isSummarised(node: Node, { options, depth }: Place): boolean {
  if (depth >= options.depth) return false;
  return SUMMARISED.has(node.name) || node.children.length > options.summaryThreshold;
}

function counts(node: Node): { files: number; folders: number } {
  let files = 0;
  let folders = 0;
  for (const child of node.children) {
    if (!child.folder) files += 1;
    else {
      const below = counts(child);
      files += below.files;
      folders += below.folders + 1;
    }
  }
  return { files, folders };
}
