import { hasNul } from './decode.ts';
import { viewOf } from './lines.ts';

interface Magic {
  readonly mimeType: string;
  readonly at?: number;
  readonly bytes: string;
  /** True if a text could begin with these bytes too. They are a signature only if the file contains a NUL. */
  readonly plain?: true;
}

/** Signatures as Latin-1 strings. RIFF and ISO media store their type at a later offset. */
const MAGIC: readonly Magic[] = [
  { mimeType: 'image/png', bytes: '\x89PNG\r\n\x1a\n' },
  { mimeType: 'image/jpeg', bytes: '\xff\xd8\xff' },
  { mimeType: 'image/gif', bytes: 'GIF87a', plain: true },
  { mimeType: 'image/gif', bytes: 'GIF89a', plain: true },
  { mimeType: 'image/bmp', bytes: 'BM', plain: true },
  { mimeType: 'image/tiff', bytes: 'II*\0' },
  { mimeType: 'image/tiff', bytes: 'MM\0*' },
  { mimeType: 'image/x-icon', bytes: '\0\0\x01\0' },
  { mimeType: 'image/webp', at: 8, bytes: 'WEBP', plain: true },
  { mimeType: 'audio/wav', at: 8, bytes: 'WAVE', plain: true },
  { mimeType: 'video/x-msvideo', at: 8, bytes: 'AVI ', plain: true },
  { mimeType: 'image/avif', at: 4, bytes: 'ftypavif', plain: true },
  { mimeType: 'image/heic', at: 4, bytes: 'ftyphe', plain: true },
  { mimeType: 'audio/mp4', at: 4, bytes: 'ftypM4A', plain: true },
  { mimeType: 'video/quicktime', at: 4, bytes: 'ftypqt', plain: true },
  { mimeType: 'video/mp4', at: 4, bytes: 'ftyp', plain: true },
  { mimeType: 'application/pdf', bytes: '%PDF-' },
  { mimeType: 'audio/mpeg', bytes: 'ID3', plain: true },
  // A check of the first byte alone would also match FF FE, the byte order mark of UTF-16.
  { mimeType: 'audio/mpeg', bytes: '\xff\xfb' },
  { mimeType: 'audio/mpeg', bytes: '\xff\xfa' },
  { mimeType: 'audio/mpeg', bytes: '\xff\xf3' },
  { mimeType: 'audio/mpeg', bytes: '\xff\xf2' },
  { mimeType: 'audio/ogg', bytes: 'OggS', plain: true },
  { mimeType: 'audio/flac', bytes: 'fLaC', plain: true },
  { mimeType: 'audio/midi', bytes: 'MThd', plain: true },
  { mimeType: 'video/webm', bytes: '\x1a\x45\xdf\xa3' },
  { mimeType: 'application/zip', bytes: 'PK\x03\x04' },
  { mimeType: 'application/zip', bytes: 'PK\x05\x06' },
  { mimeType: 'application/gzip', bytes: '\x1f\x8b' },
  { mimeType: 'application/x-bzip2', bytes: 'BZh', plain: true },
  { mimeType: 'application/x-xz', bytes: '\xfd7zXZ\0' },
  { mimeType: 'application/zstd', bytes: '\x28\xb5\x2f\xfd' },
  { mimeType: 'application/x-7z-compressed', bytes: '7z\xbc\xaf\x27\x1c' },
  { mimeType: 'application/vnd.rar', bytes: 'Rar!\x1a\x07' },
  { mimeType: 'application/x-tar', at: 257, bytes: 'ustar', plain: true },
  { mimeType: 'application/vnd.sqlite3', bytes: 'SQLite format 3\0' },
  { mimeType: 'application/wasm', bytes: '\0asm' },
  { mimeType: 'application/x-elf', bytes: '\x7fELF' },
  { mimeType: 'application/vnd.microsoft.portable-executable', bytes: 'MZ', plain: true },
  { mimeType: 'font/woff', bytes: 'wOFF', plain: true },
  { mimeType: 'font/woff2', bytes: 'wOF2', plain: true },
  { mimeType: 'font/otf', bytes: 'OTTO', plain: true },
  { mimeType: 'font/ttf', bytes: '\0\x01\0\0' },
];

/** Office documents are zip archives; only the file name distinguishes them. */
const ZIPPED: readonly (readonly [string, string])[] = [
  ['.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['.pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  ['.epub', 'application/epub+zip'],
  ['.jar', 'application/java-archive'],
];

/**
 * First bytes of the signatures that need no NUL. Almost no text begins with one of them, so most
 * texts need no further comparison.
 */
const FIRST = new Set(
  MAGIC.filter(({ plain }) => plain === undefined).map(({ bytes }) => bytes.charCodeAt(0)),
);

const NOTEBOOK = 'application/x-ipynb+json';

/**
 * The media type of a file that is not plain text, even if it decodes as text (PDF, notebook); otherwise undefined.
 * Detected by content, except notebooks and zipped formats, which are detected by name.
 */
export function sniffMedia(bytes: Uint8Array, path: string): string | undefined {
  const name = path.toLowerCase();
  if (name.endsWith('.ipynb')) return NOTEBOOK;
  const binary = hasNul(bytes);
  if (!binary && !FIRST.has(bytes[0] ?? 0)) return undefined;
  const beginning = viewOf(bytes).toString('latin1', 0, 512);
  const magic = MAGIC.find(
    (known) => beginning.startsWith(known.bytes, known.at ?? 0) && (known.plain === undefined || binary),
  );
  if (magic?.mimeType !== 'application/zip') return magic?.mimeType;
  return ZIPPED.find(([extension]) => name.endsWith(extension))?.[1] ?? magic.mimeType;
}
