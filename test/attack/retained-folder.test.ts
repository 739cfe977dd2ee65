import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { foldersOnShelf, writtenIn } from '../../src/disk/shelf.ts';
import { bench } from '../support/disk.ts';

const FILES = 130_000;
/** Number of hard links to one file. Some file systems allow at most 65,000. */
const LINKS = 50_000;

it('all files of a very large folder on the shelf are checked for late writes', () => {
  const { context } = bench([]);
  const folder = join(context.retained, `folder-1-${randomUUID()}.c1`, 'full');
  mkdirSync(folder, { recursive: true });
  for (let made = 0; made < FILES; made += 1) {
    const path = join(folder, String(made));
    // Make mostly hard links, because creating a link is faster than creating a file.
    if (made % LINKS === 0) writeFileSync(path, '');
    else linkSync(join(folder, String(made - (made % LINKS))), path);
  }
  expect(foldersOnShelf(context).map(writtenIn)[0]).toHaveLength(FILES);
});
