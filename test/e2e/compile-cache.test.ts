import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../support/tree.ts';

const PROGRAM = join(import.meta.dirname, '../../dist/bin/lookfirst.js');

/** Starts the command once with this state folder. */
function start(home: string): void {
  execFileSync(process.execPath, [PROGRAM, '--version'], { env: { ...process.env, LOOKFIRST_HOME: home } });
}

// Node has it since 22.8.
describe.skipIf(!('enableCompileCache' in module))('the cache of compiled code', () => {
  it('is kept in a private folder of the state', () => {
    const { home } = scratch();
    chmodSync(home, 0o700);
    start(home);
    expect(readdirSync(join(home, 'compiled'))).not.toEqual([]);
    expect(statSync(join(home, 'compiled')).mode & 0o777).toBe(0o700);
  });

  it('is not used in a folder that others may write to', () => {
    const { home } = scratch();
    const folder = join(home, 'compiled');
    chmodSync(home, 0o700);
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    start(home);
    expect(readdirSync(folder)).toEqual([]);
  });
});
