import { isRecord, type JsonRecord } from '../../model/record.ts';

/** The answer to a tool call, in the same form for every host (a program that runs agents). */
export interface Answer {
  /**
   * False if the tool failed. The answer then shows no content, and it is unknown whether the tool
   * changed anything.
   */
  readonly ok: boolean;
  /**
   * True if the host states whether a call of its tools succeeded, or reports only successful ones.
   * Otherwise a read must prove its success by the form of its text, for example by line numbers.
   * This flag says nothing about the exit code of a command.
   */
  readonly flagged: boolean;
  /** The text blocks that the model was given; undefined if they were not recorded. */
  readonly texts?: readonly string[] | undefined;
  /** True if the content includes an image or another blob. */
  readonly media?: true;
  /**
   * The output of a command as the model was shown it, if the texts differ from it: the host wraps
   * it in other text, or shows less of it. It may be present even if the command failed or its exit
   * code is unknown.
   */
  readonly output?: string | undefined;
  /** The lines that a read returned, if the host recorded them in addition to the text. */
  readonly page?: RecordedPage | undefined;
  /** True if the host counts the empty text after a final newline as one more line. */
  readonly countsEmptyEnd?: boolean;
  /** The file's revision, if the call was made with one of Lookfirst's own tools. */
  readonly revision?: string | undefined;
}

/** Lines of a file as a host recorded them. */
export interface RecordedPage {
  readonly content: string;
  readonly from: number;
  readonly to: number;
  /** The number of lines in the file, if it is certain. An empty line after a final newline does not count. */
  readonly totalLines?: number | undefined;
  /**
   * True if the content equals the file byte for byte. Text in it that looks like a truncation mark then belongs to
   * the file.
   */
  readonly exact: boolean;
}

/** Builds an answer from the content of an MCP tool result. */
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
