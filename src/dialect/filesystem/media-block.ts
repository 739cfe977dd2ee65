import type { MediaResult } from '../operation.ts';
import type { Block } from '../render.ts';

/** By file name, as the official server does; what the bytes are is not looked at. */
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

/** A file as an image, as audio, or as an embedded resource. */
export function mediaBlock({ uri, base64 }: MediaResult): Block {
  const extension = /\.([^./\\]+)$/.exec(uri)?.[1]?.toLowerCase() ?? '';
  const mimeType = MIME_TYPES[extension] ?? 'application/octet-stream';
  if (mimeType.startsWith('image/')) return { type: 'image', data: base64, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data: base64, mimeType };
  return { type: 'resource', resource: { uri, mimeType, blob: base64 } };
}

/** What `read_media_file` promises to answer. */
export const MEDIA_OUTPUT: { readonly type: 'object'; readonly [key: string]: unknown } = {
  type: 'object',
  properties: {
    content: {
      type: 'array',
      items: {
        anyOf: [
          {
            type: 'object',
            properties: {
              type: { type: 'string', enum: ['image', 'audio'] },
              data: { type: 'string' },
              mimeType: { type: 'string' },
            },
            required: ['type', 'data', 'mimeType'],
            additionalProperties: false,
          },
          {
            type: 'object',
            properties: {
              type: { type: 'string', const: 'resource' },
              resource: {
                type: 'object',
                properties: {
                  uri: { type: 'string' },
                  mimeType: { type: 'string' },
                  blob: { type: 'string' },
                },
                required: ['uri', 'blob'],
                additionalProperties: false,
              },
            },
            required: ['type', 'resource'],
            additionalProperties: false,
          },
        ],
      },
    },
  },
  required: ['content'],
  additionalProperties: false,
};
