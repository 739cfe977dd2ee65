import type { Refusal } from '../../model/verdict.ts';
import { pathText } from '../../report/bounded.ts';
import type { RenderContext } from '../render.ts';
import { absolutePath } from './absolute-path.ts';

type Foreword = (refusal: Refusal, context: RenderContext) => string | undefined;

const ON_THE_WAY: Readonly<Record<string, string>> = {
  ENOTDIR: 'ENOTDIR: not a directory',
  ELOOP: 'ELOOP: too many symbolic links encountered',
};

/**
 * The official server's message for a refusal, which precedes Lookfirst's own; undefined if it has
 * none.
 */
export function forewordFor(
  call: 'open' | 'scandir' | 'stat' | 'mkdir',
  more: Foreword = () => undefined,
): Foreword {
  return (refusal, context) => more(refusal, context) ?? general(call, refusal, context);
}

function general(call: string, refusal: Refusal, context: RenderContext): string | undefined {
  const shown = pathText(absolutePath(refusal.path, context.roots));
  const said = (errno: string): string => `${errno}, ${call} '${shown}'`;
  // Problems in the folders of the path: the official server reports these before it does anything
  // else.
  const onTheWay = ON_THE_WAY[refusal.detail?.errno ?? ''];
  if (onTheWay !== undefined) return `${onTheWay}, realpath '${shown}'`;
  switch (refusal.code) {
    case 'OUTSIDE_WORKSPACE':
      return `Access denied - path outside allowed directories: ${shown} not in ${context.roots.join(', ')}`;
    case 'NOT_FOUND':
    case 'DELETED':
      return said('ENOENT: no such file or directory');
    case 'NOT_A_FILE':
      if (call !== 'open') return said('ENOTDIR: not a directory');
      return refusal.detail?.kind === 'directory'
        ? 'EISDIR: illegal operation on a directory, read'
        : undefined;
    case 'ALREADY_EXISTS':
      return said('EEXIST: file already exists');
    default:
      return undefined;
  }
}

/** Like `forewordFor`, for a move, whose errors name both paths. */
export function moveForeword(source: string, destination: string): Foreword {
  return (refusal, context) => {
    const from = absolutePath(source, context.roots);
    const to = absolutePath(destination, context.roots);
    const both = `'${pathText(from)}' -> '${pathText(to)}'`;
    if (refusal.code === 'NOT_FOUND' || refusal.code === 'DELETED')
      return `ENOENT: no such file or directory, rename ${both}`;
    if (refusal.code === 'ALREADY_EXISTS' || from === to)
      return `Destination already exists: ${pathText(to)}`;
    return refusal.code === 'OUTSIDE_WORKSPACE' || refusal.code === 'NOT_A_FILE'
      ? general('rename', refusal, context)
      : undefined;
  };
}
