import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { removeLayer } from '../../src/process/layer.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { treeOf } from './tree-of.ts';

/** Numbers from 0 to below 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const NAMES = ['a', 'b', 'c', 'd1', 'd2', 'l', 'x y', '.h'];

/**
 * A shell program that creates, deletes, moves, chmods, links, replaces and nests files. Single lines may fail; the
 * program continues.
 */
function shellProgram(seed: number): string {
  const random = randomFrom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const path = (): string => {
    const parts = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(NAMES));
    return `'${parts.join('/')}'`;
  };
  const lines: readonly (() => string)[] = [
    () => `echo ${Math.floor(random() * 1000)} > ${path()}`,
    () => `echo more >> ${path()}`,
    () => `cat /dev/null > ${path()}`,
    () => `rm -f ${path()}`,
    () => `rm -rf ${path()}`,
    () => `mkdir -p ${path()}`,
    () => `mv ${path()} ${path()}`,
    () => `cp -a ${path()} ${path()}`,
    () => `chmod ${pick(['600', '644', '755', '700'])} ${path()}`,
    () => `ln -s ${pick(['a', '../a', '/etc/passwd', 'nowhere', 'd1'])} ${path()}`,
    () => `ln -sfn ${path()} ${path()}`,
    () => `p=${path()}; rm -rf "$p"; mkdir "$p"; echo new > "$p/n"`,
    () => `p=${path()}; rm -rf "$p"; echo file > "$p"`,
    () => `sed -i s/1/2/ ${path()}`,
    () => `p=${path()}; cp "$p" t.tmp && echo tail >> t.tmp && mv t.tmp "$p"`,
    () => `mv d1 t.tmp; mv d2 d1; mv t.tmp d2`,
    () => `find . -type f -name b -exec sh -c 'echo x >> "$1"' _ {} ';'`,
  ];
  const count = 1 + Math.floor(random() * 12);
  return ['umask 022', ...Array.from({ length: count }, () => pick(lines)())].join('\n');
}

/** A workspace with files of every kind, and a session on it. */
export interface Stage {
  readonly base: string;
  readonly root: string;
  readonly sessions: Sessions;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-programs-')));
  const root = join(base, 'work');
  for (const [path, text] of [
    ['a', '1\n2\n'],
    ['b', '1\n'],
    ['d1/a', '11\n'],
    ['d1/d2/b', 'deep\n'],
    ['d2/c', ''],
    ['d2/x y', '1 1\n'],
    ['.h/b', 'hidden\n'],
  ] as const) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  symlinkSync('d1', join(root, 'l'));
  const policy = { durability: 'none', commands: { scratch: [] } } as const;
  const sessions = await Sessions.open({ roots: [root], home: join(base, 'state'), policy });
  const close = async (): Promise<void> => {
    await sessions.close();
    // A command's overlay layer may contain folders without permissions, which `rm` cannot remove.
    removeLayer({ folder: base });
  };
  return { base, root, sessions, close };
}

/**
 * Runs the shell program of this seed in a session and, for comparison, without Lookfirst on a copy
 * of the workspace. Both trees must be equal afterwards. An undo must restore the workspace.
 */
export async function compareProgram({ base, root, sessions }: Stage, seed: number): Promise<void> {
  const program = shellProgram(seed);
  const before = treeOf(root);
  const plain = join(base, 'plain');
  execFileSync('cp', ['-a', root, plain]);
  try {
    execFileSync('sh', ['-c', `${program}\ntrue`], { cwd: plain, stdio: 'ignore' });
    const session = await sessions.session('agent');
    const outcome = await session.run(['sh', '-c', `${program}\ntrue`], {
      profile: 'undo',
      writes: 'apply',
    });
    expect(outcome, `seed ${seed}:\n${program}\n${JSON.stringify(outcome)}`).toMatchObject({ ok: true });
    expect(treeOf(root), `seed ${seed}:\n${program}`).toEqual(treeOf(plain));
    const change = outcome.ok ? outcome.change : undefined;
    if (change === undefined) return;
    expect(await session.undo({ change }), `undo, seed ${seed}:\n${program}`).toMatchObject({ ok: true });
    expect(treeOf(root), `undo, seed ${seed}:\n${program}`).toEqual(before);
  } finally {
    rmSync(plain, { recursive: true, force: true });
  }
}

/**
 * Runs the shell program of this seed in a session. Meanwhile the test appends a line to the file
 * `a`, as another program would. The line must be in the file afterwards.
 */
export async function runBesideWriter({ root, sessions }: Stage, seed: number): Promise<void> {
  const session = await sessions.session('agent');
  const file = join(root, 'a');
  const line = `theirs ${seed}\n`;
  let written = false;
  const outcome = await session.run(
    ['sh', '-c', `echo ready; ${shellProgram(seed)}\nsleep 0.0${seed % 10}`],
    {
      profile: 'undo',
      onProgress: () => {
        if (written) return;
        written = true;
        const now = readFileSync(file, 'utf8');
        writeFileSync(file, now + line);
      },
    },
  );
  if (!outcome.ok) {
    expect(['COMMAND_CONFLICT'], JSON.stringify(outcome.refusal)).toContain(outcome.refusal.code);
    expect(readFileSync(file, 'utf8')).toContain(line);
  } else if (outcome.change !== undefined) {
    expect(readText(file), `seed ${seed}`).toContain(line);
    await session.undo({ change: outcome.change });
  }
  writeFileSync(file, '1\n2\n');
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
