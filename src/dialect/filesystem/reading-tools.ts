import { toJsonSchema } from '../../model/json-schema.ts';
import { listOf, objectOf, oneOf, type Shape } from '../../model/shape.ts';
import { explain } from '../../report/explain.ts';
import type { Results } from '../operation.ts';
import type { ContentBlock } from '../render.ts';
import { number, READS, type Tool, tool } from '../tool.ts';
import { forewordFor, HEAD_STYLE, RAW_STYLE, TEXT_OUTPUT } from './shapes.ts';

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
  return tool({
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
    outputSchema: TEXT_OUTPUT,
    annotations: READS,
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
export const READING_TOOLS: readonly Tool[] = [
  readTool('read_file', 'Read File (Deprecated)', 'Read a file as text. Deprecated: use read_text_file.'),
  readTool(
    'read_text_file',
    'Read Text File',
    'Read a file as text, whole or only its first (head) or last (tail) lines. A file must be read in full before write_file replaces it.',
  ),
  tool({
    name: 'read_media_file',
    title: 'Read Media File',
    description:
      'Read a file as base64: images and audio as such, anything else as an embedded resource. The type comes from the file name.',
    inputSchema: objectOf({ path: { type: 'string' } }, ['path']),
    outputSchema: MEDIA_OUTPUT,
    annotations: READS,
    call: ({ path }) => ({
      kind: 'media',
      operation: { path, maxBytes: MAX_WHOLE_BYTES },
      render: (result): ContentBlock[] => [mediaBlock(result)],
      foreword: forewordFor('open'),
    }),
  }),
  tool({
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
    outputSchema: TEXT_OUTPUT,
    annotations: READS,
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
