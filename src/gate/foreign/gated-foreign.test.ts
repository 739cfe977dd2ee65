import { createHash } from 'node:crypto';
import {
  existsSync,
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
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ForeignIntent } from '../../model/intent.ts';
import type { WorkspaceOptions } from '../../session/opening.ts';
import { Sessions } from '../../session/sessions.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

/** Opens a workspace with one file. The test itself acts as the other server. */
async function open(options: Partial<WorkspaceOptions> = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-foreign-')));
  const root = join(base, 'workspace');
  mkdirSync(root);
  mkdirSync(join(base, 'state'));
  const sessions = await Sessions.open({
    roots: [root],
    store: 'memory:',
    home: join(base, 'state'),
    ...options,
  });
  onTestFinished(async () => {
    await sessions.close();
    rmSync(base, { recursive: true, force: true });
  });
  const library = await sessions.session('test');
  const session = library.foreign();
  const path = join(root, 'a.txt');
  writeFileSync(path, TEXT);
  const vets = async (...intents: ForeignIntent[]) => {
    const outcome = await session.announce(intents);
    if (outcome.ok) await session.settle(outcome.change, 'failed');
    return outcome.ok ? 'ok' : outcome.refusal.code;
  };
  const saw = (more: object = {}) => session.witness({ kind: 'read', path, ...more });
  return { session, library, sessions, root, path, vets, saw };
}

describe('a foreign read', () => {
  it.each([
    ['the text of the file', { content: TEXT }, 'ok'],
    ['its lines with other endings', { content: TEXT.replaceAll('\n', '\r\n') }, 'ok'],
    ['its lines without the last newline', { content: TEXT.slice(0, -1) }, 'ok'],
    ['no text, so the disk tells', {}, 'ok'],
    ['the first lines', { content: 'one\ntwo', ranges: [{ from: 1, to: 2 }] }, 'PARTIALLY_READ'],
    [
      'the last lines, counted from the end',
      { content: 'four\nfive', ranges: [{ from: -2, to: -1 }] },
      'PARTIALLY_READ',
    ],
    ['more lines than there are', { content: TEXT, ranges: [{ from: 1, to: 99 }] }, 'ok'],
    ['a picture of it', { clamped: true }, 'PARTIALLY_READ'],
    ['older bytes', { content: 'before\n' }, 'STALE'],
    ['what was only guessed to be its text', { content: 'before\n', guessed: true }, 'PARTIALLY_READ'],
    ['what was rightly guessed to be its text', { content: TEXT, guessed: true }, 'ok'],
    ['lines that are not there any more', { content: 'before', ranges: [{ from: 1, to: 1 }] }, 'NOT_READ'],
  ])('that showed %s licenses as much as it showed', async (_what, shown, code) => {
    const { vets, saw, path } = await open();
    await saw(shown);
    expect(await vets({ kind: 'write', path, content: 'x' })).toBe(code);
  });

  it('of older bytes makes the refusal show what changed since', async () => {
    const { session, saw, path } = await open();
    expect(await saw({ content: TEXT.replace('three', 'THREE') })).toMatchObject({ ok: false });
    const refused = await session.announce([{ kind: 'write', path, content: 'x' }]);
    expect(refused).toMatchObject({
      ok: false,
      refusal: { code: 'STALE', detail: { diff: expect.stringContaining('+three') } },
    });
  });

  it('through a link is a read of the file itself', async () => {
    const { session, vets, path, root } = await open();
    symlinkSync('a.txt', join(root, 'link.txt'));
    await session.witness({ kind: 'read', path: join(root, 'link.txt'), content: TEXT });
    expect(await vets({ kind: 'write', path, content: 'x' })).toBe('ok');
  });

  it('of a whole file is noted once, and every time if sightings grow old', async () => {
    const shown = { equals: (bytes: Uint8Array) => Buffer.from(bytes).toString() === TEXT };
    for (const [ttlMs, reads] of [
      [0, 1],
      [60_000, 3],
    ]) {
      const { session, sessions, path } = await open({ policy: { ttlMs: ttlMs ?? 0 } });
      const located = await session.locate(path, 'read');
      const key = located.ok ? located.key : '';
      // The first sighting may be racy, if it falls into the clock tick of the write. Repeat until it is not.
      while ((await sessions.world.store.recall('test', key))?.racy !== false)
        expect(await session.sawWhole({ path, key }, shown)).toBe(true);
      const before = (await sessions.world.store.entries({ kinds: ['read'] })).length;
      await session.sawWhole({ path, key }, shown);
      await session.sawWhole({ path, key }, shown);
      const after = (await sessions.world.store.entries({ kinds: ['read'] })).length;
      expect(after - before).toBe((reads ?? 0) - 1);
    }
  });

  it('of other bytes than are there is not noted as whole', async () => {
    const { session, path } = await open();
    const located = await session.locate(path, 'read');
    const key = located.ok ? located.key : '';
    expect(await session.sawWhole({ path, key }, { equals: () => false })).toBe(false);
  });
});

describe('a change of which only the lines are known', () => {
  it.each([
    ['lines that were seen', [{ from: 1, to: 2 }], 'ok'],
    ['lines that were not', [{ from: 2, to: 4 }], 'PARTIALLY_READ'],
    ['any line', undefined, 'PARTIALLY_READ'],
  ])('of %s', async (_what, lines, code) => {
    const { vets, saw, path } = await open();
    await saw({ content: 'one\ntwo', ranges: [{ from: 1, to: 2 }] });
    expect(await vets({ kind: 'touch', path, ...(lines === undefined ? {} : { lines }) })).toBe(code);
  });

  it('is not carried over a change from elsewhere', async () => {
    const { vets, saw, path } = await open();
    await saw({ content: TEXT });
    writeFileSync(path, `${TEXT}six\n`);
    expect(await vets({ kind: 'touch', path, lines: [{ from: 1, to: 1 }] })).toBe('STALE');
  });

  it('needs a read of a file that is there, and nothing for one that is not', async () => {
    const { vets, path, root } = await open();
    expect(await vets({ kind: 'touch', path })).toBe('NOT_READ');
    expect(await vets({ kind: 'touch', path: join(root, 'new.txt') })).toBe('ok');
  });
});

describe('a foreign change', () => {
  it('that left other bytes than intended is recorded as it is, and does not count as seen', async () => {
    const { session, library, saw, vets, path } = await open();
    await saw({ content: TEXT });
    const prepared = await session.announce([{ kind: 'write', path, content: 'intended\n' }]);
    writeFileSync(path, 'something else\n');
    if (prepared.ok) await session.settle(prepared.change, 'done');
    expect(await vets({ kind: 'write', path, content: 'x' })).not.toBe('ok');
    expect(await library.undo({})).toMatchObject({ ok: true });
    expect(readFileSync(path, 'utf8')).toBe(TEXT);
  });

  it('that did nothing is no change, and nothing to undo', async () => {
    const { session, library, saw, path } = await open();
    await saw({ content: TEXT });
    const prepared = await session.announce([{ kind: 'write', path, content: 'x' }]);
    if (prepared.ok) await session.settle(prepared.change, 'done');
    expect(await library.undo({})).toMatchObject({ ok: false });
  });

  it('of several files is one change: all are judged, every refused one is named', async () => {
    const { session, saw, path, root } = await open();
    writeFileSync(join(root, 'b.txt'), 'b\n');
    writeFileSync(join(root, 'c.txt'), 'c\n');
    await saw({ content: TEXT });
    const write = (name: string): ForeignIntent => ({ kind: 'write', path: join(root, name), content: 'x' });
    const refused = await session.announce([write('a.txt'), write('b.txt'), write('c.txt')]);
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
    if (!refused.ok)
      expect(refused.refusal.detail?.refusals?.map(({ path: at }) => at)).toEqual([
        join(root, 'b.txt'),
        join(root, 'c.txt'),
      ]);
    expect(readFileSync(path, 'utf8')).toBe(TEXT);
  });

  it('is announced only when its before-image is on disk, also one stored earlier as a baseline', async () => {
    const { session, sessions, saw, path } = await open({ store: undefined });
    await saw({ content: TEXT });
    const { world } = sessions;
    await world.baselines.settled();
    const sha256 = createHash('sha256').update(TEXT).digest('hex');
    expect(await world.images.has(sha256)).toBe(true);
    const synced = vi.spyOn(world.images, 'sync');
    expect(await session.announce([{ kind: 'write', path, content: 'x' }])).toMatchObject({ ok: true });
    expect(synced.mock.calls.map(([hashes]) => hashes)).toEqual([[sha256]]);
  });

  it('keeps our other sessions out until it is settled', async () => {
    const { session, sessions, saw, path } = await open({ policy: { lockTimeoutMs: 50 } });
    await saw({ content: TEXT });
    const prepared = await session.announce([{ kind: 'write', path, content: 'x\n' }]);
    const other = await sessions.session('other');
    await other.read(path);
    expect(await other.write(path, 'y')).toMatchObject({ ok: false, refusal: { code: 'BUSY' } });
    if (prepared.ok) await session.settle(prepared.change, 'unknown');
    expect(await other.write(path, 'y')).toMatchObject({ ok: true });
  });

  it('cannot be settled twice', async () => {
    const { session, path } = await open();
    const prepared = await session.announce([{ kind: 'write', path: `${path}.new`, content: 'x' }]);
    const change = prepared.ok ? prepared.change : '';
    await session.settle(change, 'failed');
    expect(await session.settle(change, 'done')).toMatchObject({
      ok: false,
      refusal: { code: 'INVALID_ARGUMENT' },
    });
  });

  it('of a folder needs its full listing', async () => {
    const { session, vets, root } = await open();
    mkdirSync(join(root, 'd'));
    writeFileSync(join(root, 'd/x.txt'), 'x');
    const gone: ForeignIntent = { kind: 'delete', path: join(root, 'd'), recursive: true };
    expect(await vets(gone)).toBe('NOT_READ');
    await session.witness({ kind: 'list', path: join(root, 'd') });
    expect(await vets(gone)).toBe('ok');
  });

  it.each([
    ['an edit', { kind: 'edit', path: 'gone.txt', edits: [{ oldString: 'a', newString: 'b' }] }],
    ['an insertion', { kind: 'insert', path: 'gone.txt', content: 'x\n' }],
    ['a deletion', { kind: 'delete', path: 'gone.txt' }],
    ['a change of some lines', { kind: 'touch', path: 'gone.txt', lines: [{ from: 1, to: 1 }] }],
    ['a move to nowhere yet', { kind: 'move', source: 'gone.txt', destination: 'new.txt' }],
  ] as const)('of what is not there is the other server’s to refuse: %s', async (_what, intent) => {
    expect(await (await open()).vets(intent)).toBe('ok');
  });

  it('of what is not there is refused all the same where something else may suffer, or nobody may write', async () => {
    const { vets, saw, path } = await open();
    const source = 'gone.txt';
    expect(await vets({ kind: 'move', source, destination: path })).toBe('NOT_FOUND');
    expect(await vets({ kind: 'move', source, destination: '../out.txt' })).toBe('OUTSIDE_WORKSPACE');
    await saw({ content: TEXT });
    rmSync(path);
    expect(await vets({ kind: 'delete', path })).toBe('DELETED');
    const guarded = await open({ policy: { readOnly: true } });
    expect(await guarded.vets({ kind: 'delete', path: source })).toBe('READ_ONLY');
  });

  it('that made what was not there is recorded, and can be taken back', async () => {
    const { session, library, root } = await open();
    const path = join(root, 'log.txt');
    const prepared = await session.announce([{ kind: 'insert', path, content: 'x\n' }]);
    writeFileSync(path, 'x\n');
    if (prepared.ok) await session.settle(prepared.change, 'done');
    expect(await library.undo({})).toMatchObject({ ok: true });
    expect(existsSync(path)).toBe(false);
  });

  it('is refused where the policy lets nobody write', async () => {
    const { vets, saw, path } = await open({ policy: { readOnly: true } });
    await saw({ content: TEXT });
    expect(await vets({ kind: 'write', path, content: 'x' })).toBe('READ_ONLY');
    expect(await vets({ kind: 'touch', path })).toBe('READ_ONLY');
  });

  it('of a file its session deleted or moved is known afterwards', async () => {
    const { session, vets, saw, path, root } = await open();
    await saw({ content: TEXT });
    const moved = join(root, 'moved.txt');
    const prepared = await session.announce([{ kind: 'move', source: path, destination: moved }]);
    writeFileSync(moved, readFileSync(path));
    rmSync(path);
    if (prepared.ok) await session.settle(prepared.change, 'done');
    expect(await vets({ kind: 'write', path: moved, content: 'x' })).toBe('ok');
  });
});

it('files that hold secrets are not read where the policy refuses them', async () => {
  for (const secrets of ['mask', 'refuse'] as const) {
    const { session, path } = await open({ policy: { secrets } });
    writeFileSync(join(path, '..', '.env'), 'TOKEN=x\n');
    const located = await session.locate(join(path, '..', '.env'), 'read');
    expect(located.ok ? 'ok' : located.refusal.code).toBe(secrets === 'mask' ? 'ok' : 'PROTECTED');
    expect(await session.locate(path, 'read')).toMatchObject({ ok: true });
  }
});

describe('notes', () => {
  it('and refusals of paths go into the journal', async () => {
    const { session, sessions } = await open();
    await session.note('let through: something');
    expect(await session.locate('/etc/passwd', 'read')).toMatchObject({
      ok: false,
      refusal: { code: 'OUTSIDE_WORKSPACE' },
    });
    const entries = await sessions.world.store.entries({ order: 'oldest' });
    expect(entries.map(({ kind, text, code }) => [kind, text ?? code])).toEqual([
      ['session', 'opened'],
      ['notice', 'let through: something'],
      ['refusal', expect.anything()],
    ]);
  });
});

it('what only the operator’s bypass let through is told, and the journal says so', async () => {
  const { session, sessions, path } = await open({ policy: { bypass: ['*.txt'] } });
  const outcome = await session.announce([{ kind: 'write', path, content: 'new\n' }]);
  if (!outcome.ok) throw new Error(outcome.refusal.code);
  expect(outcome.notices).toEqual([{ kind: 'bypassed', glob: '*.txt' }]);
  writeFileSync(path, 'new\n');
  await session.settle(outcome.change, 'done');
  const entries = await sessions.world.store.entries({ kinds: ['change', 'bypass'], order: 'oldest' });
  const { change } = entries[0] ?? {};
  expect(entries).toMatchObject([{ kind: 'change' }, { kind: 'bypass', path: 'a.txt', change }]);
});
