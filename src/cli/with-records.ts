import { nothingHere } from '../records/entry-words.ts';
import { Records } from '../records/records.ts';
import { canonicalPath, Scope } from '../records/scope.ts';
import { pathText } from '../report/bounded.ts';
import { recordsPlaceOf } from '../session/configured.ts';
import type { Cli } from './cli.ts';

/**
 * Opens the records in the places that the flags name, and closes them after `use`. `missing`: what
 * to do if nothing is recorded there yet.
 */
export async function withRecords<T>(
  cli: Cli,
  use: (records: Records) => Promise<T>,
  missing?: 'empty' | 'make',
): Promise<T> {
  const places = recordsPlaceOf(cli, cli.flags);
  const records = await Records.open(places, missing);
  try {
    return await use(records);
  } finally {
    await records.close();
  }
}

/** The workspaces that the flags select. `family`: with the other worktrees of their repositories. */
export function chosenScope({ cwd, flags: { root, all } }: Cli, reach?: 'family'): Scope {
  return new Scope({ cwd, root, all, ...(reach === undefined ? {} : { family: true }) });
}

/** The message for an empty list. A folder that was given and is not there may be a mistake. */
export function nothingRecorded(cli: Cli): string {
  const missing = cli.flags.root?.find((folder) => canonicalPath(cli.cwd, folder).kind !== 'folder');
  if (missing === undefined) return nothingHere(recordsPlaceOf(cli, cli.flags));
  return `nothing is recorded of ${pathText(missing)}, and there is no such folder now`;
}
