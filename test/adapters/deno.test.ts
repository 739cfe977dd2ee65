import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { scratch } from '../support/tree.ts';
import { prepare } from './prepare.mjs';

await prepare();
const modules = join(import.meta.dirname, 'node_modules');

it('Deno, which cannot load the native package, reads and writes without it', () => {
  const { root, home } = scratch();
  const program = join(modules, `.program-${process.pid}-deno.mjs`);
  onTestFinished(() => rmSync(program));
  writeFileSync(
    program,
    `import { writeFileSync } from 'node:fs';
    import { openSession } from 'lookfirst';
    const session = await openSession({ roots: ['${root}'], home: '${home}' });
    writeFileSync('${root}/unread.txt', 'kept');
    const made = [await session.write('a.txt', 'one'), await session.write('a.txt', 'two')];
    const refused = await session.write('unread.txt', 'lost');
    console.log(JSON.stringify([...made.map(({ ok }) => ok), refused.refusal?.code]));
    await session.close();`,
  );
  const deno = join(modules, '.bin/deno');
  // Deno caches compiled code by path, and would run that of an earlier build here.
  const env = { ...process.env, DENO_DIR: join(home, 'deno') };
  const text = execFileSync(deno, ['run', '-A', program], { encoding: 'utf8', cwd: modules, env });
  expect(JSON.parse(text)).toEqual([true, true, 'NOT_READ']);
});
