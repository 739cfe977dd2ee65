/** What a process ends with. Part of the contract: scripts decide by it. */
export const EXIT = {
  /** Done; also "nothing to do". */
  done: 0,
  /** We could not do our job, or a check found something broken. */
  fault: 1,
  /** A promise stood against it; nothing was changed. */
  refused: 2,
  /** The command line made no sense. */
  usage: 64,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
