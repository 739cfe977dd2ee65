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

const LOOK_MS = 200;
const PAGE_BYTES = 4096;

/** Calls `onOverrun` when the process exceeds a limit; the function returned ends the watch. */
export function watch(pid: number, limits: RunLimits, onOverrun: () => void): () => void {
  const deadline = setTimeout(onOverrun, limits.timeMs);
  const looks = setInterval(() => {
    if (residentBytes(pid) > limits.memoryBytes) onOverrun();
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
