/**
 * Resolves a path lexically, in the form that the official server uses in its errors. Windows paths are returned as
 * given.
 */
export function absolutePath(given: string, [root = '']: readonly string[]): string {
  if (!root.startsWith('/')) return given;
  const names: string[] = [];
  for (const name of (given.startsWith('/') ? given : `${root}/${given}`).split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}
