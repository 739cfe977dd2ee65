import type { LayerExpectation, PendingChange } from '../model/entry.ts';
import { openExistingStore } from '../store/open-existing.ts';
import type { Places } from './configured.ts';

/** A shell command that a hook has announced. */
export interface AnnouncedShell {
  readonly change: string;
  /** A sub-agent's session id ends with `/` and the sub-agent's id. */
  readonly session: string;
  readonly turn?: string;
  readonly root: string;
  readonly command: string;
  readonly layer: LayerExpectation;
}

/**
 * Finds the announcement of the command in a line of the client's shell. The client quotes the command and adds to it,
 * so only letters and digits are compared. Of several equal commands, the oldest that no other process runs is used.
 */
export async function announcedShell(
  { store }: Pick<Places, 'store'>,
  { conversation, line }: { readonly conversation: string; readonly line: string },
): Promise<AnnouncedShell | undefined> {
  const opened = await openExistingStore(store);
  try {
    const text = essenceOf(line);
    return (await opened.pending())
      .filter(({ entry }) => entry.session === conversation || entry.session.startsWith(`${conversation}/`))
      .filter(({ foreign }) => foreign?.command !== undefined && foreign.command.onLayer !== true)
      .filter(({ entry }) => text.includes(essenceOf(entry.text ?? '')))
      .sort(betterFirst)
      .map(shellOf)[0];
  } finally {
    await opened.close();
  }
}

/** Sorts longer commands first: a shorter command may be a part of the line's real command. */
function betterFirst({ entry: one }: PendingChange, { entry: other }: PendingChange): number {
  return essenceOf(other.text ?? '').length - essenceOf(one.text ?? '').length || one.atMs - other.atMs;
}

function essenceOf(text: string): string {
  return text.replaceAll('/dev/null', '').replace(/[^\p{L}\p{N}]/gu, '');
}

function shellOf({ change, entry, foreign }: PendingChange): AnnouncedShell {
  const { session, turn, root, text = '' } = entry;
  const layer = foreign?.command?.layer ?? 'possible';
  return { change, session, root, command: text, layer, ...(turn === undefined ? {} : { turn }) };
}
