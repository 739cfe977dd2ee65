const NOBODY = 65534;

/** Runs something without root's rights, which no permission stops. Whoever is not root just runs it. */
export function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
  }
}
