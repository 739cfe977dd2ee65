import { chownSync, closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench, holding, openToAll, put } from '../../test/support/disk.ts';
import { asNobody } from '../../test/support/nobody.ts';
import { loadNative } from './context.ts';
import { replace } from './replace.ts';

const root = process.getuid?.() === 0;

describe.skipIf(loadNative() === undefined)('extended attributes', () => {
  const native = createRequire(import.meta.url)('fs-native-extensions') as NonNullable<
    ReturnType<typeof loadNative>
  >;

  function withFile<T>(path: string, work: (fd: number) => T): T {
    const fd = openSync(path, 'r+');
    try {
      return work(fd);
    } finally {
      closeSync(fd);
    }
  }

  it('are kept', async () => {
    const disk = bench(['f: old']);
    const file = join(disk.root, 'f');
    withFile(file, (fd) => {
      for (const name of ['user.one', 'user.two'])
        native.setAttrSync(fd, name, Buffer.from(`value of ${name}`));
    });
    const done = await put(disk, 'f');
    expect(done.notices).toEqual([]);
    const kept = withFile(file, (fd) =>
      [...native.listAttrsSync(fd)].map((name) => `${native.getAttrSync(fd, name)}`),
    );
    expect(kept.sort()).toEqual(['value of user.one', 'value of user.two']);
  });

  it.skipIf(!root)('that grant privileges are dropped like setuid', async () => {
    const disk = bench(['f: old']);
    const file = join(disk.root, 'f');
    // A valid capability value: version 2, effective, cap_net_raw.
    const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex');
    withFile(file, (fd) => native.setAttrSync(fd, 'security.capability', capability));
    const done = await put(disk, 'f');
    expect(done.notices).toEqual([{ kind: 'mode-bits-dropped', bits: 'capabilities' }]);
    expect(withFile(file, (fd) => [...native.listAttrsSync(fd)])).toEqual([]);
  });

  it.skipIf(!root)('that cannot be set are reported; the others are kept', async () => {
    const disk = bench(['f: old']);
    const file = join(disk.root, 'f');
    openToAll(disk);
    chownSync(file, 65534, 0);
    withFile(file, (fd) => {
      native.setAttrSync(fd, 'trusted.secret', Buffer.from('x'));
      native.setAttrSync(fd, 'security.label', Buffer.from('x'));
      native.setAttrSync(fd, 'user.kept', Buffer.from('x'));
    });
    const place = disk.place('f');
    const bytes = Buffer.from('new');
    const done = await asNobody(() => replace(disk.context, place, { bytes, expected: holding('old') }));
    expect(done).toMatchObject({ ok: true, notices: [{ kind: 'xattrs-lost' }] });
    expect(withFile(file, (fd) => [...native.listAttrsSync(fd)])).toEqual(['user.kept']);
  });
});
