import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { inspectHome } from './prepare-home.ts';

describe('inspectHome', () => {
  it('reports a path that is a file, or leads through one, as not writable', () => {
    const file = join(scratch().home, 'file');
    writeFileSync(file, '');
    expect(inspectHome(file)).toMatchObject({ writable: false });
    expect(inspectHome(join(file, 'below'))).toMatchObject({ exists: false, writable: false });
  });

  it('distinguishes a private folder from one that others can read', () => {
    const { home } = scratch();
    chmodSync(home, 0o700);
    expect(inspectHome(home)).toMatchObject({ exists: true, writable: true, isPrivate: true });
    chmodSync(home, 0o755);
    expect(inspectHome(home)).toMatchObject({ exists: true, isPrivate: false });
  });

  it('inspects the nearest parent of a missing folder', () => {
    const report = inspectHome(join(scratch().home, 'not', 'yet'));
    expect(report).toMatchObject({ exists: false, writable: true, isPrivate: true });
    expect(report.freeBytes).toBeGreaterThan(0);
  });

  it('names the databases that were set aside', () => {
    const { home } = scratch();
    for (const name of ['', '.damaged-20261119T0800Z', '.older-20261119T0900Z', '.older-20261119T0900Z.head'])
      writeFileSync(join(home, `lookfirst.db${name}`), '');
    expect(inspectHome(home).setAside.toSorted()).toEqual([
      'lookfirst.db.damaged-20261119T0800Z',
      'lookfirst.db.older-20261119T0900Z',
    ]);
  });
});
