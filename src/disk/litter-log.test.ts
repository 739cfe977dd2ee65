import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { LitterLog } from './litter-log.ts';

describe('the litter log', () => {
  it('names each folder once, before the first temporary name in it exists', () => {
    const { home } = scratch();
    const log = new LitterLog(home, 'me', 'full');
    const names = [log.tempName('/w/a'), log.tempName('/w/a'), log.tempName('/w/b')];
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(/^\.lookfirst-me-[0-9a-z]+$/);
    const lines = readdirSync(join(home, 'writers'));
    expect(lines).toEqual(['me.log']);
    log.close();
    expect(readdirSync(join(home, 'writers'))).toEqual([]);
  });

  it('stays if a temporary name may have been left behind', () => {
    const { home } = scratch();
    const log = new LitterLog(home, 'me', 'none');
    log.tempName('/w');
    log.doubt();
    log.close();
    expect(readdirSync(join(home, 'writers'))).toEqual(['me.log']);
  });

  it('is not created by a process that changes nothing', () => {
    const { home } = scratch();
    new LitterLog(home, 'me', 'none').close();
    expect(readdirSync(join(home, 'writers'))).toEqual([]);
  });
});
