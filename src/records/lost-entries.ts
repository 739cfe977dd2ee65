import { basename, dirname, join } from 'node:path';
import { settingsFileAt } from '../dialect/clients/settings-files.ts';
import { bytesOfSmall } from '../disk/content.ts';
import { listUnsorted } from '../disk/list.ts';
import { unlessErrno } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import { isRecord, parseJson } from '../model/record.ts';
import { NamedDirectory } from '../workspace/pinned.ts';

/** A client's settings file in which `lookfirst init` wrote entries that are no longer there. */
interface LostEntries {
  readonly client: string;
  /** The full path of the file, which may be gone too. */
  readonly path: string;
}

/** The folders in which to look for settings files. */
interface SettingsPlaces {
  /** The state folder, where `init` records the files that it writes. */
  readonly home: string;
  readonly roots: readonly string[];
  /** The user's home folder. */
  readonly userHome: string | undefined;
}

const MAX_BYTES = 32 << 20;

/**
 * The settings files of these folders and of the user that have lost our entries, for example by a
 * checkout. `remove` drops its record, so that its work is not reported.
 */
export function lostEntries({ home, roots, userHome }: SettingsPlaces): readonly LostEntries[] {
  const records = new NamedDirectory(join(home, 'clients'));
  // Other checks report a state folder that cannot be read.
  const names = unlessErrno(() => listUnsorted(records)) ?? [];
  // A settings file of the user is in a hidden folder of the home folder. Other files belong to projects.
  const isOurs = (path: string): boolean =>
    roots.some((root) => isWithin(path, root)) ||
    (userHome !== undefined && path.startsWith(`${userHome}/.`));
  return names
    .flatMap(({ name }) => recordIn(records, name) ?? [])
    .filter(({ path, mark }) => isOurs(path) && isLost(path, mark))
    .flatMap(({ path }) => {
      const client = settingsFileAt(path)?.client;
      return client === undefined ? [] : [{ client, path }];
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function isLost(path: string, mark: RegExp): boolean {
  const bytes = bytesOfSmall({ dir: new NamedDirectory(dirname(path)), name: basename(path) }, MAX_BYTES);
  return bytes !== 'too-large' && !mark.test(bytes?.toString('utf8') ?? '');
}

/** A record of `init`: the file, and the text that it contains as long as our entries are in it. */
function recordIn(
  dir: NamedDirectory,
  name: string,
): { readonly path: string; readonly mark: RegExp } | undefined {
  const bytes = name.endsWith('.json') ? bytesOfSmall({ dir, name }, MAX_BYTES) : undefined;
  const record = bytes === undefined || bytes === 'too-large' ? undefined : parseJson(bytes.toString('utf8'));
  if (!isRecord(record) || typeof record['path'] !== 'string') return undefined;
  const { path, hooks } = record;
  return { path, mark: hooks === true ? /lookfirst-(?:hook|opencode)\b/ : /lookfirst/ };
}

/** The warning about lost entries, for users and agents. */
export function lostText({ client, path }: LostEntries): string {
  return `the entries of Lookfirst in ${path} are gone: git or another program removed them, and the client runs unchecked when it starts again. Run: lookfirst init ${client}`;
}
