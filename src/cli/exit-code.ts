/** The exit codes. They are part of the contract, because scripts depend on them. */
export const EXIT = {
  /** Done; also "nothing to do". */
  done: 0,
  /** We could not do our job, or a check found something broken. */
  fault: 1,
  /** Refused; nothing was changed. */
  refused: 2,
  /** The command line made no sense. */
  usage: 64,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
