/** A store that holds notes in memory for a moment. */
export interface Peer {
  flush(): void;
}

/**
 * The stores that this process has open, by database file. Module state: callers open a store by
 * its URL and do not know which other stores have the same file open.
 */
const openHere = new Map<string, Set<Peer>>();

/**
 * All stores that this process has open on a database file. They are peers: before one answers, the
 * others write the notes that they still hold in memory.
 */
export function peersOn(file: string): Set<Peer> {
  const peers = openHere.get(file) ?? new Set();
  openHere.set(file, peers);
  return peers;
}
