import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratch } from '../support/tree.ts';

const examples = join(import.meta.dirname, '../../examples');

/** Tests one of the examples. Its framework must be installed. */
export function runsExample(name: string): void {
  it(`${name}: gets a refusal for a blind change, reads the file, and repeats the change`, () => {
    const { base, home } = scratch();
    // Copy the examples beside the installed frameworks, so that the example finds them as in a
    // user's project.
    const copy = join(import.meta.dirname, 'node_modules', `.examples-${process.pid}`);
    cpSync(examples, copy, { recursive: true });
    try {
      // The environment contains no API keys: every example runs offline.
      const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: base, LOOKFIRST_HOME: home };
      const out = execFileSync(process.execPath, [join(copy, name)], { env, encoding: 'utf8' });
      expect(out).toMatch(/refusing to \w+ \S*greeting\.txt: read it first \[NOT_READ\]/m);
      expect(out).toContain('greeting.txt: Hello, world!');
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
}
