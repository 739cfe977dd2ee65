import { chmodSync, existsSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok, refusal } from '../support/desk.ts';
import { makeTree, type Scratch, scratch, treeOf } from '../support/tree.ts';
import { treeWithModes } from '../support/tree-replay.ts';

interface Table extends Scratch {
  readonly session: GatedSession;
  readonly sessions: Sessions;
  /** The number of disk steps of each kind since `steps` was last called. */
  steps(): Readonly<Record<string, number>>;
}

async function table(lines: readonly string[] = []): Promise<Table> {
  const places = scratch();
  makeTree(places, lines);
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  onTestFinished(() => sessions.close());
  let counted: Record<string, number> = {};
  const trace = (step: string): void => {
    counted[step] = (counted[step] ?? 0) + 1;
  };
  Object.assign(sessions.world.disk, { trace });
  const steps = (): Readonly<Record<string, number>> => {
    const now = counted;
    counted = {};
    return now;
  };
  return { ...places, sessions, session: await sessions.session('ann'), steps };
}

const NAMES = Array.from({ length: 40 }, (_, index) => `f${index}`);

describe('a batch of many files', () => {
  it('writes all new bytes before the first file changes, and can be undone', async () => {
    const t = await table(NAMES.map((name) => `${name}: old ${name}`));
    const before = treeOf(t.root);
    for (const name of NAMES) await ok(t.session.read(name));
    t.steps();
    const changes = NAMES.map((path) => ({ kind: 'write', path, content: `new ${path}` }) as const);
    const order: string[] = [];
    const { disk } = t.sessions.world;
    Object.assign(disk, { trace: (step: string) => order.push(step) });
    const { change = '' } = await ok(
      t.session.apply([...changes, { kind: 'write', path: 'n/x', content: 'x' }]),
    );
    expect(order.lastIndexOf('temp-write')).toBeLessThan(order.indexOf('exchange'));
    expect(treeOf(t.root)).toEqual([...NAMES.map((name) => `${name}: new ${name}`).sort(), 'n/x: x']);
    await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual(before);
    await ok(t.session.write('f0', 'seen again'));
  });

  it('gives back a deleted or overwritten file itself, not a copy, if a later change fails', async () => {
    const t = await table(['a: a', 'b: b', 'c: c', 's: s']);
    for (const name of ['a', 'b', 'c']) await ok(t.session.read(name));
    const inodes = (): number[] => ['a', 'b'].map((name) => statSync(join(t.root, name)).ino);
    const before = inodes();
    const trace = (step: string): void => {
      if (step === 'publish') writeFileSync(join(t.root, 'c'), 'theirs');
    };
    Object.assign(t.sessions.world.disk, { trace });
    const changes = [
      { kind: 'delete', path: 'a' },
      { kind: 'move', source: 's', destination: 'b' },
      { kind: 'write', path: 'c', content: 'mine' },
    ] as const;
    await refusal(t.session.apply(changes), 'STALE');
    expect(inodes()).toEqual(before);
    expect(treeOf(t.root)).toEqual(['a: a', 'b: b', 'c: theirs', 's: s']);
  });

  it('leaves no files behind if one of its changes fails', async () => {
    const t = await table(NAMES.map((name) => `${name}: old ${name}`));
    for (const name of NAMES) await ok(t.session.read(name));
    const before = treeOf(t.root);
    const { disk } = t.sessions.world;
    let exchanges = 0;
    Object.assign(disk, {
      trace: (step: string) => {
        if (step === 'exchange' && ++exchanges === 20) writeFileSync(join(t.root, 'f30'), 'by hand');
      },
    });
    const changes = NAMES.map((path) => ({ kind: 'write', path, content: `new ${path}` }) as const);
    const all = [...changes, { kind: 'write', path: 'n/x', content: 'x' } as const];
    await refusal(t.session.apply(all), 'STALE');
    expect(treeOf(t.root)).toEqual(before.map((line) => (line.startsWith('f30:') ? 'f30: by hand' : line)));
    expect(readdirSync(t.root).filter((name) => name.startsWith('.lookfirst-'))).toEqual([]);
  });
});

describe('a deleted folder that an undo restores', () => {
  async function withFolder(): Promise<Table> {
    const t = await table(NAMES.flatMap((name) => [`d/${name}: ${name}`, `d/in/${name}: in ${name}`]));
    symlinkSync('f1', join(t.root, 'd/link'));
    chmodSync(join(t.root, 'd/f2'), 0o750);
    chmodSync(join(t.root, 'd/in'), 0o700);
    await ok(t.session.list('d', { depth: 5 }));
    return t;
  }

  it('is the same as before, each time', async () => {
    const t = await withFolder();
    const before = treeWithModes(t.root);
    await ok(t.session.delete('d', { recursive: true }));
    expect(existsSync(join(t.root, 'd'))).toBe(false);
    const { change = '' } = await ok(t.session.undo({}));
    expect(treeWithModes(t.root)).toEqual(before);
    await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual([]);
  });

  it('keeps bytes that another program wrote into it at the moment of the deletion', async () => {
    const t = await withFolder();
    const { disk } = t.sessions.world;
    Object.assign(disk, {
      trace: (step: string) => {
        if (step !== 'claim') return;
        Object.assign(disk, { trace: undefined });
        writeFileSync(join(t.root, 'd/in/f7'), 'by hand');
      },
    });
    const before = treeOf(t.root).map((line) => (line.startsWith('d/in/f7:') ? 'd/in/f7: by hand' : line));
    // The first try finds that a file has changed, so the delete is judged again. It is allowed: a
    // delete requires that the folder was listed, not that each file was read.
    await ok(t.session.delete('d', { recursive: true }));
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(before);
  });

  it('is removed file by file if another program has put a file into it', async () => {
    const t = await table();
    await ok(
      t.session.apply(NAMES.map((name) => ({ kind: 'write', path: `d/${name}`, content: name }) as const)),
    );
    writeFileSync(join(t.root, 'd/theirs'), 'theirs');
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(['d/theirs: theirs']);
  });

  it('is restored beside what another program has put there in the meantime', async () => {
    const t = await withFolder();
    const before = treeOf(t.root);
    await ok(t.session.delete('d', { recursive: true }));
    const { disk } = t.sessions.world;
    Object.assign(disk, {
      trace: (step: string) => {
        if (step === 'publish') makeTree(t, ['d/theirs: theirs']);
      },
    });
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual([...before, 'd/theirs: theirs'].sort());
  });
});
