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
import { setLimits } from '../../../test/support/limits.ts';
import type { HostIntent } from '../../model/intent.ts';
import type { WorkspaceOptions } from '../../session/sessions.ts';
import { Sessions } from '../../session/sessions.ts';

const TEXT = 'one\ntwo\nthree\nfour\nfive\n';

/** Opens a workspace with one file. The test acts as another server: it writes the file itself. */
async function open(options: Partial<WorkspaceOptions> = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-host-')));
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
  const session = library.forHost();
  const path = join(root, 'a.txt');
  writeFileSync(path, TEXT);
  const vets = async (...intents: HostIntent[]) => {
    const outcome = await session.announce(intents);
    if (outcome.ok) await session.settle(outcome.change, 'failed');
    return outcome.ok ? 'ok' : outcome.refusal.code;
  };
  const saw = (more: object = {}) => session.witness({ kind: 'read', path, ...more });
  return { session, library, sessions, root, path, vets, saw };
}

/** A read with an unknown tool, during which the file did not change. */
const GUESSED = { guessed: true, before: createHash('sha256').update(TEXT).digest('hex') } as const;

describe('a host read', () => {
  it.each([
    ['the text of the file', { content: TEXT }, 'ok'],
    ['its lines with other endings', { content: TEXT.replaceAll('\n', '\r\n') }, 'ok'],
    ['its lines without the last newline', { content: TEXT.slice(0, -1) }, 'ok'],
    ['no text, so that the file on disk counts', {}, 'ok'],
    ['the first lines', { content: 'one\ntwo', ranges: [{ from: 1, to: 2 }] }, 'PARTIALLY_READ'],
    [
      'the last lines, counted from the end',
      { content: 'four\nfive', ranges: [{ from: -2, to: -1 }] },
      'PARTIALLY_READ',
    ],
    ['more lines than there are', { content: TEXT, ranges: [{ from: 1, to: 99 }] }, 'ok'],
    ['a shortened text', { clamped: true }, 'PARTIALLY_READ'],
    ['older bytes', { content: 'before\n' }, 'STALE'],
    ["a text that was wrongly guessed to be the file's", { content: 'size: 24', ...GUESSED }, 'NOT_READ'],
    ["a text that was rightly guessed to be the file's", { content: TEXT, ...GUESSED }, 'ok'],
    ['its lines below a title that nobody knows', { content: `<<< a.txt >>>\n${TEXT}`, ...GUESSED }, 'ok'],
    ['its text as a field of an object', { content: JSON.stringify({ body: TEXT }), ...GUESSED }, 'ok'],
    ['some of its lines, it is not known which', { content: 'one\ntwo\n', ...GUESSED }, 'PARTIALLY_READ'],
    ['older bytes, by a guess', { content: 'before\n', guessed: true, before: 'older' }, 'STALE'],
    ['an image, after which the file changed', { clamped: true, before: 'older' }, 'NOT_READ'],
    ['lines that no longer exist', { content: 'before', ranges: [{ from: 1, to: 1 }] }, 'NOT_READ'],
  ])('that showed %s licenses exactly what it showed', async (_what, shown, code) => {
    const { vets, saw, path } = await open();
    await saw(shown);
    expect(await vets({ kind: 'write', path, content: 'x' })).toBe(code);
  });

  it('of older bytes leads to a refusal with the diff since then', async () => {
    const { session, saw, path } = await open();
    await saw({ content: TEXT.replace('three', 'THREE') });
    const refused = await session.announce([{ kind: 'write', path, content: 'x' }]);
    expect(refused).toMatchObject({
      ok: false,
      refusal: { code: 'STALE', detail: { diff: expect.stringContaining('+three') } },
    });
  });

  it('through a link counts as a read of the target file', async () => {
    const { session, vets, path, root } = await open();
    symlinkSync('a.txt', join(root, 'link.txt'));
    await session.witness({ kind: 'read', path: join(root, 'link.txt'), content: TEXT });
    expect(await vets({ kind: 'write', path, content: 'x' })).toBe('ok');
  });

  it('is journalled every time', async () => {
    const { sessions, saw } = await open();
    await saw({ content: TEXT });
    await saw({ content: TEXT });
    expect(await sessions.world.store.entries({ kinds: ['read'] })).toHaveLength(2);
  });
});

it.each([
  [TEXT, 'ok'],
  ['other\n', 'NOT_READ'],
])('a command that printed %j into the file knows it only if that is its content', async (content, code) => {
  const { session, vets, path } = await open();
  await session.witnessWritten(path, content);
  expect(await vets({ kind: 'write', path, content: 'x' })).toBe(code);
});

describe('a change of which only the line numbers are known', () => {
  it.each([
    ['seen lines', [{ from: 1, to: 2 }], 'ok'],
    ['unseen lines', [{ from: 2, to: 4 }], 'PARTIALLY_READ'],
    ['unknown lines', undefined, 'PARTIALLY_READ'],
  ])('is judged by coverage: %s', async (_what, lines, code) => {
    const { vets, saw, path } = await open();
    await saw({ content: 'one\ntwo', ranges: [{ from: 1, to: 2 }] });
    expect(await vets({ kind: 'touch', path, ...(lines === undefined ? {} : { lines }) })).toBe(code);
  });

  it('is not merged with an outside change', async () => {
    const { vets, saw, path } = await open();
    await saw({ content: TEXT });
    writeFileSync(path, `${TEXT}six\n`);
    expect(await vets({ kind: 'touch', path, lines: [{ from: 1, to: 1 }] })).toBe('STALE');
  });

  it('needs a read of an existing file, and none for a missing one', async () => {
    const { vets, path, root } = await open();
    expect(await vets({ kind: 'touch', path })).toBe('NOT_READ');
    expect(await vets({ kind: 'touch', path: join(root, 'new.txt') })).toBe('ok');
  });
});

describe('a host change', () => {
  it('that left other bytes than intended is recorded with the real bytes, which do not count as seen', async () => {
    const { session, library, saw, vets, path } = await open();
    await saw({ content: TEXT });
    const prepared = await session.announce([{ kind: 'write', path, content: 'intended\n' }]);
    writeFileSync(path, 'something else\n');
    if (prepared.ok) await session.settle(prepared.change, 'done');
    expect(await vets({ kind: 'write', path, content: 'x' })).not.toBe('ok');
    expect(await library.undo({})).toMatchObject({ ok: true });
    expect(readFileSync(path, 'utf8')).toBe(TEXT);
  });

  it('without a delta is not recorded, and there is nothing to undo', async () => {
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
    const write = (name: string): HostIntent => ({ kind: 'write', path: join(root, name), content: 'x' });
    const refused = await session.announce([write('a.txt'), write('b.txt'), write('c.txt')]);
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
    if (!refused.ok)
      expect(refused.refusal.detail?.refusals?.map(({ path: at }) => at)).toEqual([
        join(root, 'b.txt'),
        join(root, 'c.txt'),
      ]);
    expect(readFileSync(path, 'utf8')).toBe(TEXT);
  });

  it('is announced together with its before-image, even if that was stored when it was read', async () => {
    const { session, sessions, saw, path } = await open({ store: undefined });
    await saw({ content: TEXT });
    const { world } = sessions;
    const sha256 = createHash('sha256').update(TEXT).digest('hex');
    expect(await world.images.has(sha256)).toBe(true);
    const recorded = vi.spyOn(world.store, 'record');
    expect(await session.announce([{ kind: 'write', path, content: 'x' }])).toMatchObject({ ok: true });
    const announced = recorded.mock.calls.flatMap(([{ announce, images }]) => (announce ? [images] : []));
    expect(announced).toMatchObject([{ shared: [{ fingerprint: { sha256 } }] }]);
  });

  it('blocks our other sessions until it is settled', async () => {
    setLimits({ lockTimeoutMs: 50 });
    const { session, sessions, saw, path } = await open();
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
    const gone: HostIntent = { kind: 'delete', path: join(root, 'd'), recursive: true };
    expect(await vets(gone)).toBe('NOT_READ');
    await session.witness({ kind: 'list', path: join(root, 'd') });
    expect(await vets(gone)).toBe('ok');
  });

  it.each([
    ['an edit', { kind: 'edit', path: 'gone.txt', edits: [{ oldString: 'a', newString: 'b' }] }],
    ['an insertion', { kind: 'insert', path: 'gone.txt', content: 'x\n' }],
    ['a deletion', { kind: 'delete', path: 'gone.txt' }],
    ['a change of some lines', { kind: 'touch', path: 'gone.txt', lines: [{ from: 1, to: 1 }] }],
    ['a move to a free path', { kind: 'move', source: 'gone.txt', destination: 'new.txt' }],
  ] as const)('of a missing file is left to the other server to refuse: %s', async (_what, intent) => {
    expect(await (await open()).vets(intent)).toBe('ok');
  });

  it('of a missing file is refused if another file could be affected or the session is read-only', async () => {
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

  it('that created a file is recorded, and can be undone', async () => {
    const { session, library, root } = await open();
    const path = join(root, 'log.txt');
    const prepared = await session.announce([{ kind: 'insert', path, content: 'x\n' }]);
    writeFileSync(path, 'x\n');
    if (prepared.ok) await session.settle(prepared.change, 'done');
    expect(await library.undo({})).toMatchObject({ ok: true });
    expect(existsSync(path)).toBe(false);
  });

  it('is refused under a read-only policy', async () => {
    const { vets, saw, path } = await open({ policy: { readOnly: true } });
    await saw({ content: TEXT });
    expect(await vets({ kind: 'write', path, content: 'x' })).toBe('READ_ONLY');
    expect(await vets({ kind: 'touch', path })).toBe('READ_ONLY');
  });

  it('that moves a file moves its sighting', async () => {
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

it('files with secrets are not read if the policy refuses them', async () => {
  for (const secrets of ['mask', 'refuse'] as const) {
    const { session, path } = await open({ policy: { secrets } });
    writeFileSync(join(path, '..', '.env'), 'TOKEN=x\n');
    const located = await session.locate(join(path, '..', '.env'), 'read');
    expect(located.ok ? 'ok' : located.refusal.code).toBe(secrets === 'mask' ? 'ok' : 'PROTECTED');
    expect(await session.locate(path, 'read')).toMatchObject({ ok: true });
  }
});

describe('notes', () => {
  it('and refusals of paths are journalled', async () => {
    const { session, sessions } = await open();
    await session.note('let through: something');
    expect(await session.locate('/etc/passwd', 'read')).toMatchObject({
      ok: false,
      refusal: { code: 'OUTSIDE_WORKSPACE' },
    });
    const entries = await sessions.world.store.entries({ order: 'oldest' });
    expect(entries.map((each) => [each.kind, each.kind === 'refusal' ? each.code : each.text])).toEqual([
      ['session', 'opened'],
      ['notice', 'let through: something'],
      ['refusal', expect.anything()],
    ]);
  });
});

it('a change that only the operator’s bypass allowed is reported and journalled', async () => {
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

describe('a change that the host of another session is about to make', () => {
  /** Opens two sessions that have read the same file. The first has announced an edit. */
  async function announced(now: () => number) {
    const opened = await open({ now });
    const { sessions, path, saw, library: first } = opened;
    await saw();
    const second = await sessions.session('second');
    await second.forHost().witness({ kind: 'read', path });
    const edit = (from: string, to: string): HostIntent => {
      return { kind: 'edit', path, edits: [{ oldString: from, newString: to }] };
    };
    const change = await first.announce([edit('one', 'ONE')], { hold: 'none' });
    if (!change.ok) throw new Error(change.refusal.code);
    return { ...opened, first, second, edit, change: change.change };
  }

  it('is awaited, and the next change is judged against its bytes', async () => {
    const { first, second, edit, change, path, root, saw } = await announced(() => 1_000_000);
    let isAnswered = false;
    const next = second.announce([edit('two', 'TWO')], { hold: 'none' }).finally(() => {
      isAnswered = true;
    });
    for (const name of ['b.txt', 'c.txt', 'd.txt']) {
      const outcome = await first.announce([{ kind: 'write', path: join(root, name), content: 'x' }]);
      if (outcome.ok) await first.settle(outcome.change, 'failed');
    }
    await saw();
    expect(isAnswered).toBe(false);
    writeFileSync(path, TEXT.replace('one', 'ONE'));
    await first.settle(change, 'done');
    const outcome = await next;
    expect(outcome).toMatchObject({ ok: true, notices: [{ kind: 'changed-elsewhere' }] });
  });

  it('is awaited by the tools of our own server', async () => {
    const { first, second, change, path } = await announced(() => 1_000_000);
    const next = second.edit(path, [{ oldString: 'two', newString: 'TWO' }]);
    writeFileSync(path, TEXT.replace('one', 'ONE'));
    await first.settle(change, 'done');
    expect(await next).toMatchObject({ ok: true });
    expect(readFileSync(path, 'utf8')).toBe(TEXT.replace('one', 'ONE').replace('two', 'TWO'));
  });

  it('is not awaited for long: its host may be asking the user', async () => {
    let ms = 1_000_000;
    const { second, edit } = await announced(() => (ms += 100));
    expect(await second.announce([edit('two', 'TWO')], { hold: 'none' })).toMatchObject({ ok: true });
  });

  it('is not awaited by its own session', async () => {
    const { first, edit } = await announced(() => 1_000_000);
    expect(await first.announce([edit('two', 'TWO')], { hold: 'none' })).toMatchObject({ ok: true });
  });

  it('is not recorded as the delta of a command that ran meanwhile', async () => {
    const { sessions, first, second, change, path } = await announced(() => 1_000_000);
    const command = await second.announceCommand('cat a.txt');
    writeFileSync(path, TEXT.replace('one', 'ONE'));
    const ended = second.settle(command, 'done');
    await second.read(path);
    await first.settle(change, 'done');
    await ended;
    const changes = await sessions.world.store.entries({ kinds: ['change'] });
    expect(changes).toMatchObject([{ session: 'test', action: 'edit' }]);
  });

  it('is not recorded as the delta of a command whose announcement had begun before', async () => {
    let ms = 1_000_000;
    const { sessions, second } = await announced(() => ms);
    const { store } = sessions.world;
    const announcing = second.announceCommand('cat a.txt');
    // Here `announceCommand` has already read the files. Its entry must have the time of that read,
    // because the entry lacks changes that other sessions make later.
    ms += 10;
    const change = await announcing;
    expect(await store.pending({ change })).toMatchObject([{ entry: { atMs: 1_000_000 } }]);
  });
});
