import type { Refusal } from '../../model/verdict.ts';
import type { Words } from '../words.ts';

type Foreword = (refusal: Refusal, words: Words) => string | undefined;

/** The official server's words for a refusal, before our own; undefined where it has none. */
export function forewordFor(call: string, more: Foreword = () => undefined): Foreword {
  return (refusal, words) => more(refusal, words) ?? general(call, refusal, words);
}

function general(call: string, { code, path }: Refusal, words: Words): string | undefined {
  const shown = words.path(path);
  if (code === 'OUTSIDE_WORKSPACE')
    return `Access denied - path outside allowed directories: ${shown} not in ${words.roots.join(', ')}`;
  if (code === 'NOT_FOUND') return `ENOENT: no such file or directory, ${call} '${shown}'`;
  return undefined;
}

/** For tools that make something in a folder that must be there. */
export const parentMissing: Foreword = ({ code, path }, words) =>
  code === 'NOT_FOUND'
    ? `Parent directory does not exist: ${words.path(path.replace(/[\\/][^\\/]*[\\/]?$/, ''))}`
    : undefined;
