/** The exit codes. They are part of the contract, because scripts depend on them. */
export const EXIT = {
  /** Done; also "nothing to do". */
  done: 0,
  /** The command failed, or a check found something broken. */
  fault: 1,
  /** Refused; nothing was changed. */
  refused: 2,
  /** The command line is invalid. */
  usage: 64,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
