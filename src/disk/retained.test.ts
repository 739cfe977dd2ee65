import { mkdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench } from '../../test/support/disk.ts';
import { fingerprintOf } from './read.ts';
import { dropRetained, fingerprintOfRetained, listRetained, type RetainedFile } from './retained.ts';

/** The entries that `listRetained` finds after `make` has filled the folder `retained`. */
function retained(make: (folder: string) => void): readonly RetainedFile[] {
  const t = bench([]);
  make(t.context.retained);
  return listRetained(t.context, () => false);
}

describe('displaced files', () => {
  it('are regular files: a folder or link that got there in a race is not listed', () => {
    const listed = retained((folder) => {
      writeFileSync(join(folder, '1-file'), 'old\n');
      mkdirSync(join(folder, '2-folder'));
      symlinkSync('1-file', join(folder, '3-link'));
      symlinkSync('/dev/zero', join(folder, '4-device'));
    });
    expect(listed.map(({ file }) => file.slice(file.lastIndexOf('/') + 1))).toEqual(['1-file']);
    expect(listed.map(fingerprintOfRetained)).toEqual([fingerprintOf(Buffer.from('old\n'))]);
  });

  it('may be taken over by another process after they were listed', () => {
    const [file] = retained((folder) => writeFileSync(join(folder, '1-file'), 'old\n'));
    if (file === undefined) expect.fail('it was not listed');
    unlinkSync(file.file);
    expect(fingerprintOfRetained(file)).toBeUndefined();
    expect(() => dropRetained(file)).not.toThrow();
  });
});
