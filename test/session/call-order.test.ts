import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClientCall } from '../../src/model/call.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { toolset } from '../../src/tools/toolset.ts';
import { desk } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

const codeOf = (outcome: Outcome<object>): string => (outcome.ok ? 'ok' : outcome.refusal.code);

/** The times of a call that has just arrived and is not answered yet. */
const received = (): ClientCall => new ClientCall();

/** A session on a folder with one file. */
async function open() {
  const { root, session } = await desk();
  const path = join(root, 'a.txt');
  writeFileSync(path, 'one\n');
  return { root, session, path };
}

describe('a library call made before a promise is resolved', () => {
  it('is not licensed by a read', async () => {
    const { session, path } = await open();
    const [read, early] = await Promise.all([session.read('a.txt'), session.write('a.txt', 'early\n')]);
    expect([codeOf(read), codeOf(early)]).toEqual(['ok', 'NOT_READ']);
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect(codeOf(await session.write('a.txt', 'later\n'))).toBe('ok');
  });

  it('is not licensed by a read of several files', async () => {
    const { root, session } = await open();
    for (let i = 0; i < 50; i += 1) writeFileSync(join(root, `${i}.txt`), 'x\n');
    const names = ['a.txt', ...Array.from({ length: 50 }, (_, i) => `${i}.txt`)];
    const [, early] = await Promise.all([session.readMany(names), session.write('a.txt', 'early\n')]);
    expect(codeOf(early)).toBe('NOT_READ');
    expect(codeOf(await session.write('a.txt', 'later\n'))).toBe('ok');
  });

  it('is not licensed by a listing', async () => {
    const { root, session } = await open();
    mkdirSync(join(root, 'folder'));
    writeFileSync(join(root, 'folder/b.txt'), 'b\n');
    const remove = () => session.delete('folder', { recursive: true });
    const [, early] = await Promise.all([session.list('folder'), remove()]);
    expect(codeOf(early)).toBe('NOT_READ');
    expect(existsSync(join(root, 'folder/b.txt'))).toBe(true);
    expect(codeOf(await remove())).toBe('ok');
  });

  it('is not licensed by the lines of a refusal', async () => {
    const { session, path } = await open();
    await session.read('a.txt');
    writeFileSync(path, 'by hand\n');
    const codes = await Promise.all([session.write('a.txt', 'x\n'), session.write('a.txt', 'y\n')]);
    expect(codes.map(codeOf)).toEqual(['STALE', 'STALE']);
    expect(codeOf(await session.write('a.txt', 'z\n'))).toBe('ok');
  });

  it('that undoes another session’s change is not licensed by a read', async () => {
    const { session, open: openMore } = await desk();
    const other = await openMore({ session: 'other' });
    const made = await other.write('b.txt', 'b\n');
    const change = made.ok ? made.change : undefined;
    const [, early] = await Promise.all([session.read('b.txt'), session.undo({ change })]);
    expect(codeOf(early)).toBe('NOT_READ');
    expect(codeOf(await session.undo({ change }))).toBe('ok');
  });

  it('that copies onto a file is not licensed by a read of that file', async () => {
    const { root, session } = await open();
    writeFileSync(join(root, 'b.txt'), 'b\n');
    const [, early] = await Promise.all([session.read('b.txt'), session.copy('a.txt', 'b.txt')]);
    expect(codeOf(early)).toBe('NOT_READ');
    expect(codeOf(await session.copy('a.txt', 'b.txt'))).toBe('ok');
  });

  it('is not licensed by a read through a toolset', async () => {
    const { session, path } = await open();
    const { tools } = toolset(session);
    const call = (name: string, args: object) => tools.find((tool) => tool.name === name)?.call(args);
    const write = (content: string) => call('write_file', { path: 'a.txt', content });
    const [, early] = await Promise.all([call('read_file', { path: 'a.txt' }), write('early\n')]);
    expect(early).toMatchObject({ ok: false, outcome: { code: 'NOT_READ' } });
    expect(readFileSync(path, 'utf8')).toBe('one\n');
    expect(await write('later\n')).toMatchObject({ ok: true });
  });
});

describe('library calls made at once by several sessions', () => {
  it.each([2, 5])('of one workspace, %i of them, edit different lines in turns', async (count) => {
    const { root, home } = scratch();
    const path = join(root, 'a.txt');
    writeFileSync(path, Array.from({ length: 40 }, (_, line) => `line ${line}\n`).join(''));
    const sessions = await Sessions.open({ roots: [root], home });
    onTestFinished(() => sessions.close());
    const open = await Promise.all(Array.from({ length: count }, (_, at) => sessions.open(`s${at}`, {})));
    for (const session of open) await session.read('a.txt');
    const edits = Array.from({ length: 40 }, (_, line) =>
      open[line % count]?.edit('a.txt', [{ oldString: `line ${line}\n`, newString: `LINE ${line}\n` }]),
    );
    const codes = (await Promise.all(edits)).map((outcome) => outcome && codeOf(outcome));
    expect(codes.filter((code) => code !== 'ok')).toEqual([]);
    expect(readFileSync(path, 'utf8')).not.toContain('line');
  });

  it('insert by line number only if nobody else has moved the lines', async () => {
    const { session, path } = await open();
    writeFileSync(path, 'one\ntwo\nthree\nfour\nfive\nsix\n');
    await session.read('a.txt');
    const replace = (old: string, now: string) => session.edit('a.txt', [{ oldString: old, newString: now }]);
    const insert = (afterLine: number) => session.insert('a.txt', 'new\n', { afterLine });
    writeFileSync(path, 'ONE\ntwo\nthree\nfour\nfive\nsix\n');
    expect((await Promise.all([replace('six', '6'), insert(4)])).map(codeOf)).toEqual(['ok', 'ok']);
    expect(readFileSync(path, 'utf8')).toBe('ONE\ntwo\nthree\nfour\nnew\nfive\n6\n');
    await session.read('a.txt');
    writeFileSync(path, `by hand\n${readFileSync(path, 'utf8')}`);
    const moved = await Promise.all([replace('6', 'six'), replace('five', '5'), insert(4)]);
    expect(moved.map(codeOf)).toEqual(['ok', 'ok', 'PARTIALLY_READ']);
    expect(readFileSync(path, 'utf8')).toBe('by hand\nONE\ntwo\nthree\nfour\nnew\n5\nsix\n');
  });
});

describe('changes of another program, announced by several sessions before the first is answered', () => {
  it('are allowed if they edit different lines in turns', async () => {
    const { root, home } = scratch();
    const path = join(root, 'a.txt');
    writeFileSync(path, Array.from({ length: 8 }, (_, line) => `line ${line}\n`).join(''));
    const sessions = await Sessions.open({ roots: [root], home });
    onTestFinished(() => sessions.close());
    const open = [await sessions.open('s', {}), await sessions.open('t', {})] as const;
    for (const session of open) await session.read('a.txt');
    const arrived = Array.from({ length: 8 }, received);
    const codes: string[] = [];
    for (const [line, times] of arrived.entries()) {
      const session = open[line % 2] ?? open[0];
      const edit = { oldString: `line ${line}\n`, newString: `LINE ${line}\n` };
      const intent = { kind: 'edit', path: 'a.txt', edits: [edit] } as const;
      const announced = await session.inCall(times, () => session.announce([intent]));
      codes.push(codeOf(announced));
      if (!announced.ok) continue;
      writeFileSync(path, readFileSync(path, 'utf8').replace(`line ${line}\n`, `LINE ${line}\n`));
      await session.settle(announced.change, 'done');
    }
    expect(codes).toEqual(arrived.map(() => 'ok'));
  });
});

describe('an answer that is not sent yet', () => {
  it('to a refused call licenses nothing, however late the next call arrives', async () => {
    const { session, path } = await open();
    await session.read('a.txt');
    writeFileSync(path, 'by hand\n');
    const refused = received();
    expect(codeOf(await session.inCall(refused, () => session.write('a.txt', 'x\n')))).toBe('STALE');
    expect(codeOf(await session.write('a.txt', 'y\n'))).toBe('STALE');
    refused.answered();
    expect(codeOf(await session.write('a.txt', 'z\n'))).toBe('ok');
  });

  it('to a listing licenses nothing', async () => {
    const { root, session } = await open();
    mkdirSync(join(root, 'folder'));
    const listing = received();
    await session.inCall(listing, () => session.list('folder'));
    writeFileSync(join(root, 'folder/b.txt'), 'b\n');
    const listed = received();
    await session.inCall(listed, () => session.list('folder'));
    expect(codeOf(await session.delete('folder', { recursive: true }))).not.toBe('ok');
    listed.answered();
    expect(codeOf(await session.delete('folder', { recursive: true }))).toBe('ok');
  });

  it('to a cancelled read licenses nothing, even after many other reads', async () => {
    const { root, session, path } = await open();
    await session.inCall(received(), () => session.read('a.txt'));
    for (let i = 0; i < 300; i += 1) {
      writeFileSync(join(root, `${i}.txt`), 'x\n');
      await session.read(`${i}.txt`);
    }
    expect(codeOf(await session.write('a.txt', 'blind\n'))).toBe('NOT_READ');
    expect(readFileSync(path, 'utf8')).toBe('one\n');
  });

  it('to a read of some lines licenses nothing, even if a later read of the others is answered', async () => {
    const { session, path } = await open();
    writeFileSync(path, 'one\ntwo\nthree\n');
    const first = received();
    await session.inCall(first, () => session.read('a.txt', { limit: 2 }));
    expect(codeOf(await session.read('a.txt', { offset: 3 }))).toBe('ok');
    expect(codeOf(await session.write('a.txt', 'blind\n'))).toBe('PARTIALLY_READ');
    expect(codeOf(await session.insert('a.txt', 'x\n', { afterLine: 1 }))).toBe('PARTIALLY_READ');
    first.answered();
    expect(codeOf(await session.write('a.txt', 'later\n'))).toBe('ok');
  });

  it('to a cancelled read does not make later reads count as unseen', async () => {
    const { session, path } = await open();
    writeFileSync(path, 'one\ntwo\nthree\n');
    await session.inCall(received(), () => session.read('a.txt', { limit: 1 }));
    await session.read('a.txt', { limit: 2 });
    await session.inCall(received(), () => session.read('a.txt'));
    await session.read('a.txt', { offset: 3 });
    expect(codeOf(await session.write('a.txt', 'x\n'))).toBe('ok');
  });

  it('to a cancelled read does not undo a compaction', async () => {
    const { session } = await open();
    await session.read('a.txt');
    await session.inCall(received(), () => session.read('a.txt'));
    await session.compacted();
    expect(codeOf(await session.write('a.txt', 'blind\n'))).toBe('NOT_READ');
  });

  it('to a cancelled read does not undo a compaction when other lines are read', async () => {
    const { session, path } = await open();
    writeFileSync(path, 'one\ntwo\nthree\n');
    await session.read('a.txt');
    await session.inCall(received(), () => session.read('a.txt'));
    await session.compacted();
    await session.inCall(received(), () => session.read('a.txt', { limit: 1 }));
    await session.read('a.txt', { offset: 3 });
    expect(codeOf(await session.write('a.txt', 'blind\n'))).toBe('PARTIALLY_READ');
  });
});

describe("a session's own change", () => {
  const arrived = (): ClientCall => new ClientCall();

  it('licenses calls that arrived after the call that made it, answered or not', async () => {
    const { session } = await open();
    const [first, second] = [arrived(), arrived()];
    const created = await session.inCall(first, () => session.write('new.txt', 'a\n'));
    const edit = [{ oldString: 'a', newString: 'b' }];
    const edited = await session.inCall(second, () => session.edit('new.txt', edit));
    expect([codeOf(created), codeOf(edited)]).toEqual(['ok', 'ok']);
  });

  it('does not license a call that arrived before it', async () => {
    const { root, session } = await open();
    const [first, second] = [arrived(), arrived()];
    expect(codeOf(await session.inCall(second, () => session.write('new.txt', 'second\n')))).toBe('ok');
    const early = await session.inCall(first, () => session.write('new.txt', 'first\n'));
    expect(codeOf(early)).toBe('NOT_READ');
    expect(readFileSync(join(root, 'new.txt'), 'utf8')).toBe('second\n');
  });

  it('and a read that is never answered licenses nothing', async () => {
    const { session } = await open();
    await session.inCall(arrived(), () => session.read('a.txt'));
    expect(codeOf(await session.write('a.txt', 'x\n'))).toBe('NOT_READ');
  });
});

describe('a file whose bytes come back', () => {
  it('counts as seen in another process of the session, and not after a compaction', async () => {
    const { session, open: again, root } = await desk();
    const path = join(root, 'a.txt');
    writeFileSync(path, 'one\n');
    await session.read('a.txt');
    writeFileSync(path, 'stashed\n');
    await session.read('a.txt');
    const other = await again({ session: session.id });
    writeFileSync(path, 'one\n');
    expect(codeOf(await other.write('a.txt', 'two\n'))).toBe('ok');
    writeFileSync(path, 'one\n');
    await session.compacted();
    expect(codeOf(await other.write('a.txt', 'three\n'))).not.toBe('ok');
  });
});
