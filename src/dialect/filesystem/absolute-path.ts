/** Where a path leads by its spelling alone, as the official server writes it in its errors. Of Windows paths: as given. */
export function absolutePath(given: string, [root = '']: readonly string[]): string {
  if (!root.startsWith('/')) return given;
  const names: string[] = [];
  for (const name of (given.startsWith('/') ? given : `${root}/${given}`).split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}
