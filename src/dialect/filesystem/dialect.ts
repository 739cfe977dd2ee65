import type { Edit } from '../../model/intent.ts';
import { toJsonSchema } from '../../model/json-schema.ts';
import type { ListedEntry, ListResult, Notice } from '../../model/results.ts';
import { listOf, objectOf, oneOf, type Shape } from '../../model/shape.ts';
import { noticeTexts } from '../../report/describe-notice.ts';
import { explain } from '../../report/explain.ts';
import { globMatcher, globProblem, type PathMatch } from '../../text/glob/glob.ts';
import type { Results } from '../operation.ts';
import type { ContentBlock, RenderContext } from '../render.ts';
import {
  ADDS,
  DESTROYS,
  type Dialect,
  flag,
  lookingTool,
  number,
  type Problem,
  string,
  type Tool,
  tool,
} from '../tool.ts';
import {
  cutNote,
  diffText,
  forewordFor,
  HEAD_STYLE,
  infoText,
  moveForeword,
  officialListing,
  RAW_STYLE,
  sizesText,
  TEXT_OUTPUT,
  withCutNote,
} from './shapes.ts';

const ALL = Number.MAX_SAFE_INTEGER;
/**
 * Maximum size of a file that is read whole; a larger one is refused. The answer contains the
 * content twice, so a larger file would make the answer too long.
 */
const MAX_WHOLE_BYTES = 64 << 20;

/** Types by file name, as in the official filesystem server; the bytes are not checked. */
const MIME_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  bmp: 'image/bmp',
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
};

const TEXT: Shape = { type: 'string' };
// The cast is safe: nothing checks a value against this shape, and the schema must be the official one.
const RESOURCE = { type: 'string', const: 'resource' } as Shape;

/** Output schema of `read_media_file`. */
const MEDIA_OUTPUT = toJsonSchema(
  objectOf(
    {
      content: listOf({
        type: 'either',
        shapes: [
          objectOf({ type: oneOf('image', 'audio'), data: TEXT, mimeType: TEXT }, [
            'type',
            'data',
            'mimeType',
          ]),
          objectOf(
            {
              type: RESOURCE,
              resource: objectOf({ uri: TEXT, mimeType: TEXT, blob: TEXT }, ['uri', 'blob']),
            },
            ['type', 'resource'],
          ),
        ],
      }),
    },
    ['content'],
  ),
);

function readTool(name: string, title: string, description: string): Tool {
  return lookingTool({
    name,
    title,
    description,
    inputSchema: objectOf(
      {
        path: { type: 'string' },
        tail: number('If provided, returns only the last N lines of the file'),
        head: number('If provided, returns only the first N lines of the file'),
      },
      ['path'],
    ),
    // As in the official filesystem server, zero lines mean the whole file.
    call: ({ path, head = 0, tail = 0 }) => {
      if (head !== 0 && tail !== 0)
        return { kind: 'problem', reason: 'Cannot specify both head and tail parameters simultaneously' };
      if (head < 0 || tail < 0) return { kind: 'problem', reason: 'head and tail must not be negative' };
      const foreword = forewordFor('open');
      const shown = { path, raw: true };
      if (tail > 0)
        return { kind: 'read', operation: { ...shown, last: Math.ceil(tail) }, style: RAW_STYLE, foreword };
      if (head > 0)
        return { kind: 'read', operation: { ...shown, limit: Math.ceil(head) }, style: HEAD_STYLE, foreword };
      const operation = { ...shown, limit: ALL, maxBytes: MAX_WHOLE_BYTES };
      return { kind: 'read', operation, style: RAW_STYLE, foreword };
    },
  });
}

/** The tools that show files. */
const READING_TOOLS: readonly Tool[] = [
  readTool('read_file', 'Read File (Deprecated)', 'Read a file as text. Deprecated: use read_text_file.'),
  readTool(
    'read_text_file',
    'Read Text File',
    'Read a file as text, whole or only its first (head) or last (tail) lines. A file must be read in full before write_file replaces it.',
  ),
  lookingTool({
    name: 'read_media_file',
    title: 'Read Media File',
    description:
      'Read a file as base64: images and audio as such, anything else as an embedded resource. The type comes from the file name.',
    inputSchema: objectOf({ path: { type: 'string' } }, ['path']),
    outputSchema: MEDIA_OUTPUT,
    call: ({ path }) => ({
      kind: 'media',
      operation: { path, maxBytes: MAX_WHOLE_BYTES },
      render: (result): ContentBlock[] => [mediaBlock(result)],
      foreword: forewordFor('open'),
    }),
  }),
  lookingTool({
    name: 'read_multiple_files',
    title: 'Read Multiple Files',
    description: 'Read several files as text at once. A file that cannot be read does not stop the others.',
    inputSchema: objectOf(
      {
        paths: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          description: 'Paths of the files to read.',
        },
      },
      ['paths'],
    ),
    call: ({ paths }) => ({
      kind: 'read-many',
      operation: { paths, each: { raw: true, limit: ALL, maxBytes: MAX_WHOLE_BYTES } },
      render: ({ files }, context) => {
        const foreword = forewordFor('open');
        const texts = files.map(({ path, outcome }) => {
          if (outcome.ok && outcome.media !== undefined)
            return `${path}: Error - ${RAW_STYLE.other(outcome, context)}`;
          if (outcome.ok) return `${path}:\n${outcome.text}\n`;
          const official = foreword(outcome.refusal, context);
          const ours = explain(outcome.refusal, context);
          return `${path}: Error - ${official === undefined ? ours : `${official}\n${ours}`}`;
        });
        return texts.join('\n---\n');
      },
    }),
  }),
];

/** A file as an image, as audio, or as an embedded resource. */
export function mediaBlock({ uri, base64 }: Results['media']): ContentBlock {
  const extension = /\.([^./\\]+)$/.exec(uri)?.[1]?.toLowerCase() ?? '';
  const known = Object.hasOwn(MIME_TYPES, extension) ? MIME_TYPES[extension] : undefined;
  const mimeType = known ?? 'application/octet-stream';
  if (mimeType.startsWith('image/')) return { type: 'image', data: base64, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data: base64, mimeType };
  return { type: 'resource', resource: { uri, mimeType, blob: base64 } };
}

/**
 * Maximum number of entries in a listing; a note says that further ones are left out. The official
 * filesystem server has no limit. This limit keeps a root that was set by mistake, such as `/`, from
 * filling the memory.
 */
const MAX_ENTRIES = 1_000_000;
const DEEP = { as: 'names', depth: Number.MAX_SAFE_INTEGER, limit: MAX_ENTRIES } as const;
const EXCLUDES = { type: 'array', items: { type: 'string' }, default: [] } as const;

/** The tools that list folders and search for names. */
const LISTING_TOOLS: readonly Tool[] = [
  lookingTool({
    name: 'list_directory',
    title: 'List Directory',
    description: 'List what is in a folder: [FILE] or [DIR] and the name, one per line.',
    inputSchema: objectOf({ path: { type: 'string' } }, ['path']),
    call: ({ path }) => ({
      kind: 'list',
      operation: { path, as: 'names', limit: MAX_ENTRIES },
      render: (result) => withCutNote(officialListing(result), result),
      foreword: forewordFor('scandir'),
    }),
  }),
  lookingTool({
    name: 'list_directory_with_sizes',
    title: 'List Directory with Sizes',
    description: 'List what is in a folder with sizes and totals, by name or by size.',
    inputSchema: objectOf(
      {
        path: { type: 'string' },
        sortBy: {
          type: 'string',
          enum: ['name', 'size'],
          default: 'name',
          description: 'Sort entries by name or size',
        },
      },
      ['path'],
    ),
    call: ({ path, sortBy = 'name' }) => ({
      kind: 'list',
      operation: { path, as: 'entries', links: 'followed', limit: MAX_ENTRIES },
      render: (result) => withCutNote(sizesText(result, sortBy), result),
      foreword: forewordFor('scandir'),
    }),
  }),
  lookingTool({
    name: 'directory_tree',
    title: 'Directory Tree',
    description:
      'Show a folder and everything below it as JSON: name, type (file or directory), and children of directories. excludePatterns are globs to leave out.',
    inputSchema: objectOf({ path: { type: 'string' }, excludePatterns: EXCLUDES }, ['path']),
    call: ({ path, excludePatterns = [] }) =>
      problemOf(excludePatterns) ?? {
        kind: 'list',
        operation: { path, ...DEEP },
        render: (result) => jsonTree(result, excludePatterns),
        foreword: forewordFor('scandir'),
      },
  }),
  lookingTool({
    name: 'search_files',
    title: 'Search Files',
    description:
      'Find files and folders by a glob on their path below the folder: "*.ext" in the folder itself, "**/*.ext" at any depth. Returns full paths.',
    inputSchema: objectOf(
      { path: { type: 'string' }, pattern: { type: 'string' }, excludePatterns: EXCLUDES },
      ['path', 'pattern'],
    ),
    call: ({ path, pattern, excludePatterns = [] }) =>
      problemOf([pattern, ...excludePatterns]) ?? {
        kind: 'list',
        operation: { path, ...DEEP, links: 'inside' },
        render: (result) => {
          const found = matchingPaths(result.entries, pattern, excludePatterns);
          const folder = (result.absolute ?? path).replace(/\/+$/, '');
          const rows = found.map((name) => `${folder}/${name}`);
          return withCutNote(rows.length === 0 ? 'No matches found' : rows.join('\n'), result);
        },
        foreword: forewordFor('scandir'),
      },
  }),
  lookingTool({
    name: 'get_file_info',
    title: 'Get File Info',
    description: 'Show size, times, kind and permissions of a file or folder, without reading it.',
    inputSchema: objectOf({ path: { type: 'string' } }, ['path']),
    call: ({ path }) => ({
      kind: 'info',
      operation: { path },
      render: infoText,
      foreword: forewordFor('stat'),
    }),
  }),
  lookingTool({
    name: 'list_allowed_directories',
    title: 'List Allowed Directories',
    description: 'List the directories in which this server may work.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    call: () => ({
      kind: 'roots',
      operation: {},
      render: ({ roots }) => `Allowed directories:\n${roots.join('\n')}`,
    }),
  }),
];

interface TreeEntry {
  readonly name: string;
  readonly type: 'file' | 'directory' | 'note';
  readonly children?: TreeEntry[];
}

function problemOf(globs: readonly string[]): Problem | undefined {
  const reason = globs.map(globProblem).find((problem) => problem !== undefined);
  return reason === undefined ? undefined : { kind: 'problem', reason };
}

/**
 * The paths in a listing that match the pattern and are not excluded. A pattern without `**`
 * matches only at its own depth: `*.ts` does not match `src/a.ts`.
 */
export function matchingPaths(
  entries: readonly ListedEntry[],
  pattern: string,
  excludePatterns: readonly string[],
): string[] {
  const wanted = globMatcher(pattern);
  const excluded = anyOf(excludePatterns.map(globMatcher));
  return pruned(entries, excluded)
    .map(({ path }) => path)
    .filter((path) => wanted(path));
}

/**
 * A folder as a JSON tree, as in the official filesystem server. An exclude pattern without `*`
 * excludes the entries of that name at every depth. A note about an incomplete listing is an entry
 * of the tree, so that the text stays JSON.
 */
export function jsonTree(
  result: Pick<ListResult, 'entries' | 'cut'>,
  excludePatterns: readonly string[],
): string {
  const excluded = anyOf(
    excludePatterns.map((glob) =>
      glob.includes('*') ? globMatcher(glob) : anyOf([glob, `**/${glob}`, `**/${glob}/**`].map(globMatcher)),
    ),
  );
  const top: TreeEntry[] = [];
  const folders = new Map<string, TreeEntry[]>([['', top]]);
  for (const { path, kind } of pruned(result.entries, excluded)) {
    const slash = path.lastIndexOf('/');
    const name = path.slice(slash + 1);
    const siblings = folders.get(path.slice(0, Math.max(slash, 0)));
    if (kind !== 'directory') siblings?.push({ name, type: 'file' });
    else {
      const children: TreeEntry[] = [];
      folders.set(path, children);
      siblings?.push({ name, type: 'directory', children });
    }
  }
  const note = cutNote(result);
  if (note !== undefined) top.push({ name: note, type: 'note' });
  return JSON.stringify(top, null, 2);
}

/** Removes excluded entries and everything below excluded folders. A folder must come before its entries. */
function pruned(entries: readonly ListedEntry[], excluded: PathMatch): ListedEntry[] {
  const gone = new Set<string>();
  return entries.filter(({ path, kind }) => {
    const parent = path.slice(0, Math.max(path.lastIndexOf('/'), 0));
    if (!gone.has(parent) && !excluded(path)) return true;
    if (kind === 'directory') gone.add(path);
    return false;
  });
}

function anyOf(matches: readonly PathMatch[]): PathMatch {
  return (path) => matches.some((match) => match(path));
}

const ONCE = { ...DESTROYS, idempotentHint: false };

/** The tools that change files. Only create_directory creates folders. */
const FILESYSTEM_CHANGES: readonly Tool[] = [
  tool({
    name: 'write_file',
    title: 'Write File',
    description:
      'Create a file, or replace all of an existing one, which must have been read in full and be unchanged since. The folder must exist.',
    inputSchema: objectOf({ path: { type: 'string' }, content: { type: 'string' } }, ['path', 'content']),
    annotations: DESTROYS,
    call: ({ path, content }) => ({
      kind: 'write',
      operation: { path, content, makeParents: false },
      render: ({ notices }, context) => told(`Successfully wrote to ${path}`, { notices, path, context }),
      foreword: forewordFor('open'),
    }),
  }),
  tool({
    name: 'edit_file',
    title: 'Edit File',
    description:
      'Replace texts in a file that was read; each oldText must be in it exactly once. Returns a diff; with dryRun it only shows it.',
    inputSchema: objectOf(
      {
        path: { type: 'string' },
        edits: {
          type: 'array',
          items: objectOf(
            {
              oldText: string('Text to search for - must match exactly'),
              newText: string('Text to replace with'),
            },
            ['oldText', 'newText'],
          ),
        },
        dryRun: flag('Preview changes using git-style diff format', { default: false }),
      },
      ['path', 'edits'],
    ),
    annotations: ONCE,
    call: ({ path, edits: asked, dryRun = false }) => {
      const edits = asked.map(
        ({ oldText, newText }): Edit => ({ oldString: oldText, newString: newText, mayBeSame: true }),
      );
      const foreword = forewordFor('open', ({ code, detail }) =>
        code === 'NO_MATCH'
          ? `Could not find exact match for edit:\n${edits[detail?.index ?? 0]?.oldString ?? ''}`
          : undefined,
      );
      if (dryRun)
        return {
          kind: 'apply',
          operation: { changes: [{ kind: 'edit', path, edits, withDiff: true }], dryRun, unread: 'show' },
          render: ({ results: [first] }, context) =>
            told(diffText(path, first?.diff ?? '', context), {
              notices: first?.notices ?? [],
              path,
              context,
            }),
          foreword,
        };
      return {
        kind: 'edit',
        operation: { path, edits, withDiff: true },
        render: ({ diff = '', notices }, context) =>
          told(diffText(path, diff, context), { notices, path, context }),
        foreword,
      };
    },
  }),
  tool({
    name: 'create_directory',
    title: 'Create Directory',
    description: 'Create a folder, and those above it that are missing. One that exists is left as it is.',
    inputSchema: objectOf({ path: { type: 'string' } }, ['path']),
    annotations: { ...ADDS, idempotentHint: true },
    call: ({ path }) => ({
      kind: 'mkdir',
      operation: { path },
      render: () => `Successfully created directory ${path}`,
      foreword: forewordFor('mkdir'),
    }),
  }),
  tool({
    name: 'move_file',
    title: 'Move File',
    description: 'Move or rename a file or folder. Fails if something is at the destination.',
    inputSchema: objectOf({ source: { type: 'string' }, destination: { type: 'string' } }, [
      'source',
      'destination',
    ]),
    annotations: ONCE,
    call: ({ source, destination }) => ({
      kind: 'move',
      operation: { source, destination, makeParents: false, overwrite: false },
      render: ({ notices }, context) =>
        told(`Successfully moved ${source} to ${destination}`, { notices, path: destination, context }),
      foreword: moveForeword(source, destination),
    }),
  }),
];

function told(
  done: string,
  { notices, path, context }: { notices: readonly Notice[]; path: string; context: RenderContext },
): string {
  const more = noticeTexts(notices, path, context);
  return more.length === 0 ? done : `${done}${done.endsWith('\n') ? '' : '\n'}${more.join('\n')}`;
}

/** The tools of the official MCP filesystem server, as a drop-in replacement. */
export const FILESYSTEM: Dialect = {
  name: 'filesystem',
  tools: [...READING_TOOLS, ...FILESYSTEM_CHANGES, ...LISTING_TOOLS].map(
    ({ annotations, outputSchema = TEXT_OUTPUT, ...rest }) => ({ ...rest, outputSchema, annotations }),
  ),
  names: {
    read: 'read_text_file',
    media: 'read_media_file',
    write: 'write_file',
    edit: 'edit_file',
    list: 'list_directory',
    mkdir: 'create_directory',
    find: 'search_files',
    arguments: { path: 'path', oldText: 'oldText' },
  },
  unknownArguments: 'ignore',
  expandsHome: true,
  listsRoots: true,
  terms: { old_string: 'oldText', new_string: 'newText', limit: 'head' },
  instructions:
    'Files here change only after you have looked. Call read_text_file on all of a file before write_file replaces it, and on any part of it before edit_file; ' +
    'a new file needs no read. Change parts with edit_file. A refusal says what changed and what to call next: do that instead of repeating the call.',
};
