/** Compares lines regardless of their endings. The last line of either side may lack its ending. */
export function sameLines(shown: Buffer, there: Buffer): boolean {
  return shown.equals(there) || plain(shown) === plain(there);
}

function plain(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  const unix = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  return unix.endsWith('\n') ? unix.slice(0, -1) : unix;
}
