import { isRecord, type JsonRecord } from '../../model/record.ts';

/** The answer to a call, in no host's words. */
export interface Answer {
  /** False: the tool failed, so nothing was shown and nothing is known to have changed. */
  readonly ok: boolean;
  /** The host tells success from failure. Without such a flag, only a text that proves success counts. */
  readonly flagged: boolean;
  /** What the model was given, block by block; undefined where the record does not keep it. */
  readonly texts?: readonly string[] | undefined;
  /** An image or another blob is part of the content. */
  readonly media?: true;
  /** The standard output of a command, where the host wraps it in a text of its own. */
  readonly output?: string | undefined;
  /** The page of a read, where the host recorded it beside the text. */
  readonly page?: RecordedPage | undefined;
  /** The host gives the empty line after a final newline a number of its own. */
  readonly countsEmptyEnd?: boolean;
  /** The revision in the machine data of our own tools. */
  readonly revision?: string | undefined;
}

/** Lines of a file as a host recorded them. */
export interface RecordedPage {
  readonly content: string;
  readonly from: number;
  readonly to: number;
  /** Only if it is certain; an empty line after a final newline does not count. */
  readonly totalLines?: number | undefined;
  /** The content is the file's own to the byte: whatever looks like a mark in it belongs to the file. */
  readonly exact: boolean;
}

/** The answer with the content of an MCP tool result. */
export function mcpAnswer(content: unknown): Answer {
  const blocks = Array.isArray(content) ? content.filter(isRecord) : [];
  const texts = blocks.flatMap((block) => (typeof block['text'] === 'string' ? [block['text']] : []));
  return { ok: true, flagged: true, texts, ...(blocks.some(isMedia) ? { media: true } : {}) };
}

/** True for an image, for audio and for a resource that is not text. */
function isMedia(block: JsonRecord): boolean {
  if (block['type'] === 'image' || block['type'] === 'audio') return true;
  const resource = block['resource'];
  return isRecord(resource) && typeof resource['blob'] === 'string';
}
