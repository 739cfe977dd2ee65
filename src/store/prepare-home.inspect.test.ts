import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { inspectHome } from './prepare-home.ts';

describe('inspectHome', () => {
  it('of a file in its place, or on the way to it, tells that nothing can be written', () => {
    const file = join(scratch().home, 'file');
    writeFileSync(file, '');
    expect(inspectHome(file)).toMatchObject({ writable: false });
    expect(inspectHome(join(file, 'below'))).toMatchObject({ exists: false, writable: false });
  });

  it('tells a private folder from one that others can look into', () => {
    const { home } = scratch();
    chmodSync(home, 0o700);
    expect(inspectHome(home)).toMatchObject({ exists: true, writable: true, isPrivate: true });
    chmodSync(home, 0o755);
    expect(inspectHome(home)).toMatchObject({ exists: true, isPrivate: false });
  });

  it('looks above a folder that is not there yet', () => {
    const report = inspectHome(join(scratch().home, 'not', 'yet'));
    expect(report).toMatchObject({ exists: false, writable: true, isPrivate: true });
    expect(report.freeBytes).toBeGreaterThan(0);
  });
});
