import type { TreeSnapshot } from '../model/entry.ts';
import { git, type Unavailable } from './run-git.ts';

/** The bytes of blobs, in order; undefined for a blob that git does not have. */
export async function readBlobs(
  { root }: Pick<TreeSnapshot, 'root'>,
  blobs: readonly string[],
  signal: AbortSignal,
): Promise<readonly (Buffer | undefined)[] | Unavailable> {
  if (blobs.length === 0) return [];
  const result = await git(root, ['cat-file', '--batch'], { signal, input: `${blobs.join('\n')}\n` });
  if (!result.ok) return { unavailable: result.reason };
  const found: (Buffer | undefined)[] = [];
  let at = 0;
  for (const _blob of blobs) {
    const end = result.stdout.indexOf(0x0a, at);
    const header = result.stdout.subarray(at, end).toString('latin1').split(' ');
    at = end + 1;
    const size = header[1] === 'blob' ? Number(header[2]) : undefined;
    found.push(size === undefined ? undefined : result.stdout.subarray(at, at + size));
    if (size !== undefined) at += size + 1;
  }
  return found;
}

/**
 * Paths whose bytes in the work tree may differ from their blob because git converts them, for
 * example their line endings.
 */
export async function convertedPaths(
  { root }: Pick<TreeSnapshot, 'root'>,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string> | Unavailable> {
  if (paths.length === 0) return new Set();
  const automatic = await git(root, ['config', '--get', 'core.autocrlf'], { signal });
  const converts = automatic.ok && /^(true|input)$/.test(automatic.stdout.toString('utf8').trim());
  if (converts) return new Set(paths);
  const attributes = ['text', 'eol', 'crlf', 'filter', 'ident', 'working-tree-encoding'];
  const result = await git(root, ['check-attr', '--stdin', '-z', ...attributes], {
    signal,
    input: `${paths.join('\0')}\0`,
  });
  if (!result.ok) return { unavailable: result.reason };
  const fields = result.stdout.toString('utf8').split('\0');
  const found = new Set<string>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const value = fields[at + 2] ?? '';
    if (value !== 'unspecified' && value !== 'unset') found.add(fields[at] ?? '');
  }
  return found;
}
