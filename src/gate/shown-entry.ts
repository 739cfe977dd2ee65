import { hash } from 'node:crypto';
import type { NewEntry } from '../model/entry.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { World } from './world.ts';

/** The result of a list, find or search, for the journal. */
export interface Look {
  readonly action: 'list' | 'search';
  /** The folder or file that was listed or searched, as the caller wrote it. */
  readonly path: string;
  /** The amount shown, such as `12 entries`. */
  readonly text: string;
  /** The shown text. Only its hash is stored. */
  readonly shown: string;
}

/** Journals a list, find or search: counts and a hash, never the text. */
export async function recordLook(world: World, knowledge: Knowledge, look: Look): Promise<void> {
  const resolved = world.workspace.resolve(look.path);
  const root = world.workspace.roots[0] ?? '';
  const at = resolved.ok
    ? { root: resolved.path.root, path: resolved.path.relative }
    : { root, path: look.path };
  const entry: NewEntry = {
    kind: 'look',
    atMs: world.now(),
    ...knowledge.author,
    ...at,
    action: look.action,
    text: look.text,
    sha256: hash('sha256', look.shown, 'hex'),
  };
  await world.store.record({ entries: [entry] });
}
