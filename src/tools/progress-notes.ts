import type { ToolContext } from './tool-context.ts';

/** Often enough for someone who watches, seldom enough to cost nothing. */
const PACE_MS = 100;

type Progress = ToolContext['progress'];

/** Passes on the first note at once, and later ones not more often than every 100 ms; the rest is dropped. */
export function paced(progress: Progress, now: () => number = () => performance.now()): Progress {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (done, total, message) => {
    const atMs = now();
    if (atMs < nextMs) return;
    nextMs = atMs + PACE_MS;
    progress(done, total, message);
  };
}

/** A client that waits for a silent command hears of it this often. */
const SILENCE_MS = 1000;

/**
 * Notes on a command: it may print nothing for minutes, so what grows is the time in milliseconds. The first note is made at
 * once, later ones as output arrives and every second without any, until `stop`.
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
 * Notes on a search: nobody knows how much of it is left, and for seconds it may find nothing, so what grows is the time in
 * milliseconds. The first note is made at once.
 */
export function searching(
  progress: Progress,
  now: () => number = () => performance.now(),
): (files: number) => void {
  const startMs = now();
  progress(0, undefined, 'searching');
  return (files) => progress(Math.round(now() - startMs), undefined, `searching: ${files} files so far`);
}
