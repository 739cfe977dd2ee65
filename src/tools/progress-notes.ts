import type { ToolContext } from './tool-context.ts';

/** Often enough for a user who watches, rare enough to cost nothing. */
const PACE_MS = 100;

type Progress = ToolContext['progress'];

/** Passes the first note on immediately and later ones at most every 100 ms; drops the rest. */
export function paced(progress: Progress, now: () => number = () => performance.now()): Progress {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (done, total, message) => {
    const atMs = now();
    if (atMs < nextMs) return;
    nextMs = atMs + PACE_MS;
    progress(done, total, message);
  };
}

/** How often a client is notified while a command prints nothing. */
const SILENCE_MS = 1000;

/**
 * Progress notes for a command. It may print nothing for minutes, so the progress value is the
 * elapsed time in milliseconds. Sends a note immediately, then on output and every second without
 * output, until `stop`.
 */
export function running(progress: Progress): {
  readonly onProgress: (bytes: number) => void;
  readonly stop: () => void;
} {
  const startMs = performance.now();
  const note = paced(progress);
  let bytes = 0;
  const tell = (): void =>
    note(Math.round(performance.now() - startMs), undefined, `running: ${bytes} bytes of output so far`);
  const timer = setInterval(tell, SILENCE_MS);
  note(0, undefined, 'running');
  return {
    onProgress: (printed) => {
      bytes = printed;
      tell();
    },
    stop: () => clearInterval(timer),
  };
}

/**
 * Progress notes for a search. Its total is unknown and it may find nothing for seconds, so the
 * progress value is the elapsed time in milliseconds. Sends the first note immediately.
 */
export function searching(
  progress: Progress,
  now: () => number = () => performance.now(),
): (files: number) => void {
  const startMs = now();
  progress(0, undefined, 'searching');
  return (files) => progress(Math.round(now() - startMs), undefined, `searching: ${files} files so far`);
}
