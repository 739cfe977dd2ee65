const DANGEROUS = [
  /\bgit\b.*\b(checkout|restore)\b.*(\s--\s|\s\.(\s|$)|\s-f\b)/,
  /\bgit\b.*\breset\b.*--(hard|merge)/,
  /\bgit\b.*\bclean\b.*-\w*f/,
  /\bgit\b.*\bstash\b.*\b(drop|clear)\b/,
  /\bgit\b.*\bbranch\b.*(-D|-f)\b/,
  /\bgit\b.*\bworktree\b.*\bremove\b.*(--force|-f)/,
  /\bgit\b.*\b(filter-branch|reflog\s+expire|gc\b.*--prune)/,
  /\brm\b\s+(-\w+\s+)*-\w*[rf]/,
  /\bfind\b.*(-delete|-exec\s+rm)/,
  /\bxargs\b.*\brm\b/,
  /\b(truncate|shred|dd\b.*\bof=)/,
];

/** Refuses lines whose text looks dangerous. */
export const guard = {
  name: 'patterns on the text of the command',
  rank: 2,
  open: () => ({
    async run({ command, sh }) {
      if (DANGEROUS.some((pattern) => pattern.test(command))) return { refused: true, text: 'blocked' };
      await sh(command);
      return { refused: false };
    },
  }),
};
