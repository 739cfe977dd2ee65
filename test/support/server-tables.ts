import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KNOWN_SERVERS } from '../../src/dialect/calls/servers/known-servers.ts';
import type { ServerTable } from '../../src/dialect/calls/table.ts';
import { completeTable } from '../../src/dialect/calls/user-table.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'examples', 'servers');

/** The tables of the example policy files. */
export const EXAMPLE_SERVERS: readonly ServerTable[] = readdirSync(FOLDER)
  .toSorted()
  .flatMap((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')).proxy.servers.map(completeTable));

export const ALL_SERVERS: readonly ServerTable[] = [...KNOWN_SERVERS, ...EXAMPLE_SERVERS];
