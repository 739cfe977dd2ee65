import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_PATHS_IN_TEXT } from '../../src/report/command-words.ts';
import {
  here,
  open,
  put,
  ran,
  refusedRun,
  root,
  session,
  text,
  useWorkspace,
} from '../support/command-workspace.ts';
import { setLimits } from '../support/limits.ts';
import { treeOf } from '../support/tree-of.ts';

useWorkspace();

function shell(script: string): void {
  execFileSync('/bin/sh', ['-c', script], { cwd: root });
}

describe.skipIf(here === undefined)('a link whose target is not UTF-8', () => {
  const LINK = `ln -s "$(printf 'a\\377')" l`;
  const REFUSAL = { code: 'UNVERIFIABLE', path: 'l', detail: { reason: expect.stringContaining('target') } };

  it('is not committed with another target', async () => {
    expect(await refusedRun(`echo x > f; ${LINK}`)).toMatchObject(REFUSAL);
    expect(readdirSync(root)).toEqual([]);
  });

  it('is not removed, because undo could not restore it', async () => {
    shell(LINK);
    expect(await refusedRun('rm l')).toMatchObject(REFUSAL);
    expect(readlinkSync(join(root, 'l'), 'buffer')).toEqual(Buffer.from([0x61, 0xff]));
  });
});

describe.skipIf(here === undefined)('a FIFO of the workspace', () => {
  it('may be touched by a command', async () => {
    shell('mkfifo p');
    const result = await ran('chmod -R u+w .; touch p; echo x > a');
    expect(result.files).toMatchObject([{ path: 'a' }]);
    expect(readdirSync(root)).toEqual(['a', 'p']);
  });

  it('may not be removed or replaced by a command', async () => {
    shell('mkfifo p');
    for (const command of ['rm p', 'rm p; echo x > p'])
      expect(await refusedRun(command)).toMatchObject({ code: 'NOT_A_FILE', path: 'p' });
  });
});

describe.skipIf(here === undefined)('an answer about many small files', () => {
  it('shows some of them, and only those count as seen', async () => {
    const { files } = await ran('for i in $(seq 30); do echo $i > f$i; done');
    expect(files).toHaveLength(30);
    const [shown, hidden] = [files[MAX_PATHS_IN_TEXT - 1]?.path ?? '', files[MAX_PATHS_IN_TEXT]?.path ?? ''];
    expect(files.filter(({ diff }) => diff !== undefined)).toHaveLength(MAX_PATHS_IN_TEXT);
    expect(await session.write(shown, 'new\n')).toMatchObject({ ok: true });
    expect(await session.write(hidden, 'new\n')).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
    expect(text(hidden)).not.toBe('new\n');
  });
});

it.skipIf(here === undefined)(
  'a command line that is longer than the system accepts is refused',
  async () => {
    put('a', 'one\n');
    const refusal = await refusedRun(`echo two > a # ${'x'.repeat(131_072)}`);
    expect(refusal).toMatchObject({
      code: 'INVALID_ARGUMENT',
      detail: { reason: expect.stringContaining('131071') },
    });
    await ran(`echo two > a # ${'x'.repeat(131_000)}`);
    expect(text('a')).toBe('two\n');
  },
);

it.skipIf(here === undefined)(
  'a file that is too large for memory can be replaced, removed and restored',
  async () => {
    setLimits({ maxEditBytes: 1000 });
    await open();
    for (const name of ['a', 'b']) put(name, `${name}\n`.repeat(1000));
    const before = treeOf(root);
    const { change = '' } = await ran('echo x > a; rm b');
    expect([text('a'), readdirSync(root)]).toEqual(['x\n', ['a']]);
    expect(await session.undo({ change })).toMatchObject({ ok: true });
    expect(treeOf(root)).toEqual(before);
  },
);

it.skipIf(here === undefined)(
  'a setuid file that a command only touches is not named in the answer',
  async () => {
    put('a', 'one\n');
    chmodSync(join(root, 'a'), 0o4755);
    const result = await ran('touch a');
    expect([result.files, result.droppedBits]).toEqual([[], []]);
    expect(lstatSync(join(root, 'a')).mode & 0o7777).toBe(0o4755);
  },
);

it.skipIf(here === undefined)(
  'a deleted folder is named, but not the deleted folders in it, and not the folder of a deleted file',
  async () => {
    for (const name of ['d/a', 'd/sub/b', 'e/c']) put(name, 'one\n');
    const { files } = await ran('rm -r d e/c; mkdir new');
    const named = files.map(({ did, kind, path }) => `${did} ${kind} ${path}`).sort();
    expect(named).toEqual([
      'created directory new',
      'deleted directory d',
      'deleted file d/a',
      'deleted file d/sub/b',
      'deleted file e/c',
    ]);
  },
);
