/**
 * How many levels below a folder a glob can tell that folder's place from another one: 0 if what is in it matches at any
 * place or at none, Infinity if every level has to be asked. The folder itself is known not to match.
 *
 * A glob that begins with any number of folders says nothing of where a path begins: it needs its own parts in a row, and only
 * where the first of them is the folder or above does the place count. Any other glob is about one place.
 */
export function globReach(glob: string, folder: string): number {
  if (/[{}()!\\]/.test(glob)) return Number.POSITIVE_INFINITY;
  const parts = glob.toLowerCase().split('/');
  const last = parts.at(-1) === '**' ? -1 : parts.length;
  if (parts[0] !== '**')
    return leadsInto(parts, folder.toLowerCase().split('/')) ? Number.POSITIVE_INFINITY : 0;
  const own = parts.slice(1, last);
  return own.includes('**') ? Number.POSITIVE_INFINITY : Math.max(0, own.length - 1);
}

/** May an anchored glob match something in the folder? As far as both have plain names, these must be the same. */
function leadsInto(parts: readonly string[], folder: readonly string[]): boolean {
  if (!parts.includes('**') && parts.length <= folder.length) return false;
  const magic = parts.findIndex((part) => /[*?[\]+@]/.test(part));
  const plain = magic < 0 ? parts : parts.slice(0, magic);
  return folder.every((name, index) => index >= plain.length || name === plain[index]);
}
