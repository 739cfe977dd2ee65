import { readFileSync } from 'node:fs';

/** The time and memory after which a run is stopped. */
export interface RunLimits {
  readonly timeMs: number;
  readonly memoryBytes: number;
}

/**
 * Limits are necessary: a `.gitignore` that is a FIFO blocks ripgrep forever, and a link to an
 * endless device fills memory. Most clients time out after a minute, so a truncated answer must
 * arrive earlier.
 */
export const DEFAULT_LIMITS: RunLimits = { timeMs: 45_000, memoryBytes: 1 << 30 };

const LOOK_MS = 100;
const PAGE_BYTES = 4096;

/** Callbacks of a watch. */
export interface Watcher {
  /** The process exceeds a limit. */
  onOverrun(): void;
  /** The process is still running; called a few times per second. */
  onLook(): void;
}

/** Watches a process. Returns a function that stops watching. */
export function watch(pid: number, limits: RunLimits, watcher: Watcher): () => void {
  const deadline = setTimeout(() => watcher.onOverrun(), limits.timeMs);
  const looks = setInterval(() => {
    if (residentBytes(pid) > limits.memoryBytes) watcher.onOverrun();
    else watcher.onLook();
  }, LOOK_MS);
  return () => {
    clearTimeout(deadline);
    clearInterval(looks);
  };
}

/** Memory in use; 0 if the system does not report it or the process has ended. */
function residentBytes(pid: number): number {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1];
    return Number(pages) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
