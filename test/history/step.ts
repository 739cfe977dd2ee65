/**
 * The events of a conversation, independent of the program that records it. Every file has five
 * lines: `a.ts 1` to `a.ts 5`.
 */
export type Step = CallStep | ResultStep | EventStep;

export type CallStep = {
  readonly do: 'call';
  readonly id: string;
} /** `own`: with our own tool, through a server, instead of the host's. */ & (
  | { readonly tool: 'read'; readonly path: string; readonly lines?: Lines; readonly own?: true }
  | { readonly tool: 'write'; readonly path: string; readonly content: string }
  | { readonly tool: 'edit'; readonly path: string }
  | { readonly tool: 'shell'; readonly command: string }
);

export interface ResultStep {
  readonly do: 'result';
  readonly id: string;
  /**
   * Default: `ok`. `error`: the tool failed. `denied`: the user did not allow the call. `blank`:
   * the agent program replaced the text with a note.
   */
  readonly is?: 'ok' | 'error' | 'denied' | 'blank';
  /** Lines of a file that the result shows. Default for a read: the lines that its call requests. */
  readonly shows?: { readonly path: string; readonly lines: Lines };
  /** The receipt: the line that Lookfirst adds to the end of a read's text. */
  readonly receipt?: string;
}

type EventStep =
  /** The context is summarised; the results of these calls are kept. */
  | { readonly do: 'compact'; readonly keep?: readonly string[] }
  /** The conversation goes back to the point before this call. */
  | { readonly do: 'rewind'; readonly before: string }
  /** The oldest results are cleared. */
  | { readonly do: 'clear'; readonly count: number }
  /** The result of the call `id` is cleared. */
  | { readonly do: 'blank'; readonly id: string }
  | { readonly do: 'enter'; readonly directory: string };

export type Lines = readonly [from: number, to: number];

export const FILE_LINES = 5;
export const ROOT = '/repo';
/** The note that an agent program writes instead of a cleared result. */
export const NOTE = '[Old tool result content cleared]';

/** The text of some lines of a file, each with its newline. */
export function textOf(path: string, [from, to]: Lines): string {
  return linesOf(path, [from, to])
    .map((line) => `${line}\n`)
    .join('');
}

/** Lines as a read shows them: `N<TAB>text`, without a final newline. */
export function numberedText(path: string, [from, to]: Lines, pad = 0): string {
  return linesOf(path, [from, to])
    .map((line, index) => `${String(from + index).padStart(pad)}\t${line}`)
    .join('\n');
}

function linesOf(path: string, [from, to]: Lines): string[] {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const last = Math.min(to, FILE_LINES);
  return Array.from({ length: Math.max(0, last - from + 1) }, (_, index) => `${name} ${from + index}`);
}
