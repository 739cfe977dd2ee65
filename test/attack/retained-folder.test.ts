import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listRetained } from '../../src/disk/retained.ts';
import { bench } from '../support/disk.ts';

const FILES = 130_000;
/** Number of hard links to one file. Some file systems allow at most 65,000. */
const LINKS = 50_000;

it('all files of a very large folder that left the workspace are listed', () => {
  const { context } = bench([]);
  const folder = join(context.retained, 'folder-1-taken', 'full');
  mkdirSync(folder, { recursive: true });
  for (let made = 0; made < FILES; made += 1) {
    const path = join(folder, String(made));
    // Make mostly hard links, because creating a link is faster than creating a file.
    if (made % LINKS === 0) writeFileSync(path, '');
    else linkSync(join(folder, String(made - (made % LINKS))), path);
  }
  expect(listRetained(context, () => false)).toHaveLength(FILES);
});
