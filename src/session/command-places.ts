import { loadNative } from '../disk/context.ts';
import type { LayerExpectation, PendingChange } from '../model/entry.ts';
import { repositoryAround } from '../process/git.ts';
import { probeAt } from '../process/processes.ts';
import { openExistingStore } from '../store/open-state.ts';
import { MASK } from '../text/secrets.ts';
import { type ConfigSources, type Places, placesOf, type StateFlags } from './configured.ts';

/**
 * The folder in which the changes of a user's command can be undone: the repository around the
 * current folder, or else the current folder.
 */
export function commandRoot({ cwd }: Pick<ConfigSources, 'cwd'>): string {
  return repositoryAround(cwd) ?? cwd;
}

/**
 * Tests whether Lookfirst can run commands here. Uses the user's state folder, or the folder
 * `instead` if there is none yet.
 */
export async function canRunCommands(
  around: ConfigSources,
  flags: StateFlags,
  instead: string,
): Promise<{ readonly ok: boolean; readonly message: string }> {
  const homes = [placesOf(around, flags).home, instead];
  const probe = await probeAt(homes, { env: around.env, attributes: loadNative() });
  if (probe.ok) return { ok: true, message: 'commands run in a sandbox, and their changes can be undone' };
  return { ok: false, message: `no command can be run: ${probe.missing}; ${probe.cure}` };
}

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
 * Finds the announced command that a line of the client's shell contains. The client quotes the
 * command and adds to it, so only letters and digits are compared. If several commands are equal,
 * returns the oldest that no other process runs.
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
      .filter(({ host }) => host?.command !== undefined && host.command.onLayer !== true)
      .filter(({ entry }) => containsCommand(text, entry.text ?? ''))
      .sort(betterFirst)
      .map(shellOf)[0];
  } finally {
    await opened.close();
  }
}

/**
 * True if a line contains a command. `line` has only letters and digits, and only those of the
 * command are compared. A masked secret in the command matches any text.
 */
function containsCommand(line: string, command: string): boolean {
  let at = 0;
  for (const part of command.split(MASK).map(essenceOf)) {
    const found = line.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}

/**
 * Sorts longer commands first, because a shorter command may be only a part of the command that the
 * line contains.
 */
function betterFirst({ entry: one }: PendingChange, { entry: other }: PendingChange): number {
  return essenceOf(other.text ?? '').length - essenceOf(one.text ?? '').length || one.atMs - other.atMs;
}

function essenceOf(text: string): string {
  return text.replaceAll('/dev/null', '').replace(/[^\p{L}\p{N}]/gu, '');
}

function shellOf({ change, entry, host }: PendingChange): AnnouncedShell {
  const { session, turn, root, text = '' } = entry;
  const layer = host?.command?.layer ?? 'possible';
  return { change, session, root, command: text, layer, ...(turn === undefined ? {} : { turn }) };
}
