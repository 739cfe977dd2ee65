import { Records } from '../records/records.ts';
import { recordsPlaceOf } from '../session/configured.ts';
import type { Cli } from './cli.ts';

/**
 * Opens the records in the places that the flags name, and closes them after `use`. `missing`: what
 * to do if nothing is recorded there yet.
 */
export async function withRecords<T>(
  cli: Cli,
  flags: Parameters<typeof recordsPlaceOf>[1],
  use: (records: Records) => Promise<T>,
  { missing = 'read as empty' }: { readonly missing?: 'read as empty' | 'create' } = {},
): Promise<T> {
  const places = recordsPlaceOf(cli, flags);
  const records = await (missing === 'create' ? Records.openOrCreate(places) : Records.open(places));
  try {
    return await use(records);
  } finally {
    await records.close();
  }
}
