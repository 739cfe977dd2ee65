import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepare } from './prepare.mjs';

await prepare();
const compiler = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');

describe('the types of the adapters', () => {
  it('fit those of the frameworks, without skipLibCheck and with exactOptionalPropertyTypes', () => {
    const args = [compiler, '-p', import.meta.dirname, '--pretty', 'false'];
    const { stdout } = spawnSync(process.execPath, args, { cwd: import.meta.dirname, encoding: 'utf8' });
    const lines = stdout.split('\n').filter((line) => /^\S+\(\d+,\d+\): error/.test(line));
    // Some frameworks do not compile with these settings themselves.
    const ours = lines.filter((line) => !/^node_modules\/(?!lookfirst\/)/.test(line));
    expect(ours).toEqual([]);
    // Some frameworks have tens of thousands of lines of types.
  }, 300_000);
});
