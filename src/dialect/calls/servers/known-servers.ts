import type { ServerTable } from '../table.ts';
import { DESKTOP_COMMANDER } from './desktop-commander.ts';
import { FAST_FILESYSTEM } from './fast-filesystem.ts';
import { J0HANZ_FILESYSTEM } from './j0hanz-filesystem.ts';
import { MARK3LABS_FILESYSTEM } from './mark3labs-filesystem.ts';
import { OFFICIAL_FILESYSTEM } from './official-filesystem.ts';
import { RUST_FILESYSTEM } from './rust-filesystem.ts';
import { SERENA } from './serena.ts';
import { TEXT_EDITOR_SERVER } from './text-editor.ts';

/** Servers whose tools are known. */
export const KNOWN_SERVERS: readonly ServerTable[] = [
  OFFICIAL_FILESYSTEM,
  DESKTOP_COMMANDER,
  RUST_FILESYSTEM,
  FAST_FILESYSTEM,
  J0HANZ_FILESYSTEM,
  SERENA,
  MARK3LABS_FILESYSTEM,
  TEXT_EDITOR_SERVER,
];

/** What is known about a server so far. */
export interface ServerTraits {
  readonly name?: string;
  readonly tools?: readonly string[];
}

/**
 * The tables that match a server, best first: by name and tools, then by tools, then by name. Several may
 * match, because servers share names. The first table that has a tool provides its rules.
 */
export function recognise(traits: ServerTraits, tables: readonly ServerTable[]): ServerTable[] {
  const fits = tables
    .map((table) => ({ table, fit: fitOf(table, traits) }))
    .filter((candidate) => candidate.fit > 0);
  return fits.sort((a, b) => b.fit - a.fit).map((candidate) => candidate.table);
}

function fitOf(table: ServerTable, traits: ServerTraits): number {
  const name = traits.name?.toLowerCase();
  const named = name !== undefined && table.serverNames.some((known) => known.toLowerCase() === name);
  if (traits.tools === undefined || table.signature.length === 0) return named ? 1 : 0;
  const present = new Set(traits.tools);
  const signed = table.signature.every((tool) => present.has(tool));
  if (signed) return named ? 3 : 2;
  return named ? 1 : 0;
}
