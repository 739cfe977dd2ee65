/**
 * How globs of the policy are read: without regard to case, names that begin with a dot like any others, `[!a]` as all but
 * `a`, and a newline as a character of a name like any other, which `**` must not stop at.
 */
export const CASELESS_GLOB_READING = { dot: true, posix: true, nocase: true, flags: 'is' } as const;
