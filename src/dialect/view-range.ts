import type { ReadResult } from '../model/results.ts';
import { notText } from './lookfirst/looking-tools.ts';
import type { ReadStyle } from './render.ts';
import { type Problem, problem } from './tool.ts';

/** The argument of Anthropic's tools that names lines. */
export const VIEW_RANGE = {
  type: 'array',
  items: { type: 'integer' },
  minItems: 2,
  description: 'First and last line, counted from 1; -1 as the last: to the end.',
} as const;

/** Numbered lines, and which part of the file they are if they are not all of it. */
export const VIEW_STYLE: ReadStyle = {
  lines: 'numbered',
  foot: ({ from, to, totalLines }: ReadResult) => {
    if (to === 0) return '(the file is empty)';
    if (from === 1 && to === totalLines) return '\n';
    return `\n[lines ${from}-${to}${totalLines === undefined ? '' : ` of ${totalLines}`}]`;
  },
  other: notText,
};

/** The lines that a view range requests. */
export function linesIn(
  range: readonly number[] | undefined,
): { readonly offset?: number; readonly limit?: number } | Problem {
  if (range === undefined) return {};
  const [from = 1, to = -1, more] = range;
  if (more !== undefined || from < 1 || (to !== -1 && to < from))
    return problem('view_range must be [first, last], counted from 1, or [first, -1]');
  return { offset: from, limit: to === -1 ? Number.MAX_SAFE_INTEGER : to - from + 1 };
}
