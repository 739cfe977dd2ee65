import type { Colours } from '../report/human.ts';

/** Colours the added and removed lines of a unified diff. */
export function paintDiff(text: string, colours: Colours): string {
  return text
    .split('\n')
    .map((line) => {
      if (/^(---|\+\+\+) /.test(line)) return colours.bold(line);
      if (line.startsWith('@@')) return colours.dim(line);
      if (line.startsWith('+')) return colours.green(line);
      return line.startsWith('-') ? colours.red(line) : line;
    })
    .join('\n');
}
