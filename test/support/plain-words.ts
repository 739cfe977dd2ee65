import type { Words } from '../../src/dialect/words.ts';

/** Words that show what went into them, for tests of what dialects say. */
export const PLAIN_WORDS: Words = {
  roots: ['/root', '/other'],
  path: (path) => path,
  size: (bytes) => `${bytes} B`,
  ago: (ms) => `at ${ms}`,
  lines: (ranges) =>
    `lines ${ranges.map(({ from, to }) => (from === to ? from : `${from}-${to}`)).join(', ')}`,
  notices: (notices) => notices.map((notice) => `(${notice.kind})`),
  refusal: (refusal) => `refused ${refusal.path} [${refusal.code}]`,
};
