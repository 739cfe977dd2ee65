import { readFileSync } from 'node:fs';

/** How long a run may take and how much memory it may use before it is ended. */
export interface RunLimits {
  readonly timeMs: number;
  readonly memoryBytes: number;
}

/**
 * A `.gitignore` that is a FIFO blocks ripgrep for ever, one that is a link to an endless device fills the memory.
 * Most clients give up on a call after a minute; an answer that is cut short comes before that.
 */
export const DEFAULT_LIMITS: RunLimits = { timeMs: 45_000, memoryBytes: 1 << 30 };

const LOOK_MS = 100;
const PAGE_BYTES = 4096;

/** Whom a watch tells. */
export interface Watcher {
  /** The process exceeds a limit. */
  onOverrun(): void;
  /** It still runs: said a few times a second. */
  onLook(): void;
}

/** Watches a process; the function returned ends the watch. */
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

/** Memory in use; 0 where the system does not tell, or the process is gone. */
function residentBytes(pid: number): number {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1];
    return Number(pages) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
