import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { desk, ok, refusal } from '../../test/support/desk.ts';
import { asNobody, ordinaryRipgrep } from '../../test/support/nobody.ts';
import type { Intent } from '../model/intent.ts';
import type { WitnessEvent } from '../model/results.ts';
import type { ListOptions, ReadOptions, UndoSelection, WriteOptions } from '../model/session.ts';

describe('an invalid argument of an untyped program', () => {
  it('is refused by every method that takes an intent or an event', async () => {
    const { session } = await desk();
    for (const wrong of [undefined, null, 5, {}, { kind: 'write', path: 'a' }]) {
      await refusal(session.vet(wrong as unknown as Intent), 'INVALID_ARGUMENT');
      await refusal(session.perform(wrong as unknown as Intent), 'INVALID_ARGUMENT');
      if (wrong !== undefined && Object(wrong).kind === 'write') continue;
      await refusal(session.witness(wrong as unknown as WitnessEvent), 'INVALID_ARGUMENT');
    }
  });

  it.each([[null], [5], ['x'], [{ signal: {} }], [{ onProgress: 5 }], [{ unheardOf: 1 }]])(
    'options %j are refused',
    async (wrong) => {
      const t = await desk();
      await t.put('a.txt', 'one\n');
      const options = wrong as unknown as ReadOptions & ListOptions & UndoSelection;
      await refusal(t.session.read('a.txt', options), 'INVALID_ARGUMENT');
      await refusal(t.session.list('.', options), 'INVALID_ARGUMENT');
      await refusal(t.session.find('*', options), 'INVALID_ARGUMENT');
      await refusal(t.session.search('one', options), 'INVALID_ARGUMENT');
      await refusal(t.session.undo(options), 'INVALID_ARGUMENT');
      await refusal(t.session.write('a.txt', 'x'), 'NOT_READ');
    },
  );

  it.each([
    [{ limit: 0 }],
    [{ limit: 1.5 }],
    [{ limit: '2' }],
    [{ limit: Number.NaN }],
    [{ as: 'nonsense' }],
  ])('a listing with %j is refused, and nothing counts as seen', async (wrong) => {
    const t = await desk();
    await t.put('d/a.txt', 'one\n');
    await refusal(t.session.list('d', wrong as unknown as ListOptions), 'INVALID_ARGUMENT');
    await refusal(t.session.delete('d', { recursive: true }), 'NOT_READ');
  });

  it('options of a change cannot replace its path or kind', async () => {
    const t = await desk();
    const options = { path: 'b.txt', kind: 'mkdir' } as unknown as WriteOptions;
    await ok(t.session.write('a.txt', 'x', options));
    expect(t.text('a.txt')).toBe('x');
  });

  it.each([[{ chnage: 'c1' }], [{ preview: 'yes' }], [{ change: 5 }], [{ sinceMs: '0' }], [{ merge: 1 }]])(
    'an undo with %j is refused and undoes nothing',
    async (wrong) => {
      const t = await desk();
      await ok(t.session.write('a.txt', 'x'));
      await refusal(t.session.undo(wrong as unknown as UndoSelection), 'INVALID_ARGUMENT');
      expect(t.text('a.txt')).toBe('x');
    },
  );

  it('a limit that is NaN is refused', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    await refusal(t.session.read('a.txt', { maxBytes: Number.NaN }), 'INVALID_ARGUMENT');
  });

  it.each([[undefined], [Number.NaN], ['5']])(
    'a rewind to %j is a fault and forgets nothing',
    async (toMs) => {
      const t = await desk();
      await t.put('a.txt', 'one\n');
      await ok(t.session.read('a.txt'));
      const rewound = t.session.rewound(toMs as unknown as number);
      await expect(rewound).rejects.toMatchObject({ code: 'MISUSE' });
      await ok(t.session.write('a.txt', 'two\n'));
    },
  );
});

it('options for resuming that are not an object are a fault', async () => {
  const { session } = await desk();
  await expect(session.resumeFrom([], null as unknown as object)).rejects.toMatchObject({ code: 'MISUSE' });
});

describe('reading', () => {
  it('that was cancelled before it began shows nothing, and nothing counts as seen', async () => {
    const t = await desk();
    await t.put('a.txt', 'one\n');
    const read = t.session.read('a.txt', { signal: AbortSignal.abort() });
    await expect(read).rejects.toMatchObject({ name: 'AbortError' });
    await refusal(t.session.write('a.txt', 'x'), 'NOT_READ');
  });
});

describe('a folder that may not be read', () => {
  it('cannot be listed or deleted, nor can a folder that contains it, and the refusal says why', async () => {
    const t = await desk({ store: 'memory:' });
    await t.put('around/locked/a.txt', 'one\n');
    await ok(t.session.list('around', { depth: 3 }));
    const locked = join(t.root, 'around/locked');
    chmodSync(locked, 0);
    onTestFinished(() => chmodSync(locked, 0o700));
    const why = { detail: { errno: 'EACCES' } };
    const { session } = t;
    const listed = asNobody(() => session.list('around/locked'));
    expect(await refusal(listed, 'UNVERIFIABLE')).toMatchObject({ action: 'list', ...why });
    for (const path of ['around', 'around/locked']) {
      const deleted = asNobody(() => session.delete(path, { recursive: true }));
      expect(await refusal(deleted, 'UNVERIFIABLE')).toMatchObject({ action: 'delete', ...why });
    }
  });

  it('is left out of searches, and the results say so', async () => {
    const t = await desk({ store: 'memory:' });
    for (const path of ['open.txt', 'locked/a.txt']) await t.put(path, 'one\n');
    for (const path of ['', '..']) chmodSync(join(t.root, path), 0o755);
    const locked = join(t.root, 'locked');
    chmodSync(locked, 0);
    onTestFinished(() => chmodSync(locked, 0o700));
    // The packaged ripgrep may be in a folder that only root may enter.
    vi.stubEnv('PATH', `${ordinaryRipgrep()}:${process.env['PATH']}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { session } = t;
    const part = { truncated: true, unreadable: true };
    const found = await ok(asNobody(() => session.find('**/*.txt')));
    expect(found).toMatchObject({ paths: ['open.txt'], ...part });
    const hits = await ok(asNobody(() => session.search('one')));
    expect(hits).toMatchObject({ matches: 1, ...part });
    expect(await ok(asNobody(() => session.find('**/*.txt', { limit: 1 })))).toMatchObject(part);
  });
});

describe('undo', () => {
  it('without an argument undoes the last change', async () => {
    const t = await desk();
    await ok(t.session.write('a.txt', 'one\n'));
    await ok(t.session.write('a.txt', 'two\n'));
    await ok(t.session.undo());
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('in a read-only session changes nothing, but shows what it would do', async () => {
    const t = await desk({ session: 'agent' });
    await ok(t.session.write('a.txt', 'one\n'));
    await ok(t.session.write('a.txt', 'two\n'));
    await t.session.close();
    const reader = await t.open({ session: 'agent', policy: { readOnly: true } });
    await refusal(reader.undo({}), 'READ_ONLY');
    expect(t.text('a.txt')).toBe('two\n');
    expect(await ok(reader.undo({ preview: true }))).toMatchObject({ diff: expect.stringContaining('+one') });
  });
});
