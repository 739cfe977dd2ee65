const NOBODY = 65534;

/** Runs something without root's rights, which no permission stops. Whoever is not root just runs it. */
export function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  const back = (): void => process.seteuid?.(0);
  let result: T;
  try {
    result = work();
  } catch (error) {
    back();
    throw error;
  }
  if (result instanceof Promise) void result.then(back, back);
  else back();
  return result;
}
