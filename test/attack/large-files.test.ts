import { closeSync, existsSync, openSync, readSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SessionOptions } from '../../src/session/sessions.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { setLimits } from '../support/limits.ts';

describe('files of 2 GB and more (issue 14, point 32)', { timeout: 600_000 }, () => {
  const HUGE = 2 ** 31 + 10;

  async function withHuge(options: Partial<SessionOptions> = {}): Promise<Desk & { readonly path: string }> {
    setLimits({ maxReadMs: 300_000 });
    const t = await desk(options);
    const path = join(t.root, 'large');
    writeFileSync(path, 'first line\n');
    truncateSync(path, HUGE);
    return { ...t, path };
  }

  it('are moved and moved back', async () => {
    const t = await withHuge();
    const { ino } = statSync(t.path);
    await ok(t.session.move('large', 'in/moved'));
    expect(statSync(join(t.root, 'in/moved')).size).toBe(HUGE);
    const undone = await ok(t.session.undo({}));
    expect(undone.diff).toBe('large\n(moved back from in/moved, same content)');
    expect(statSync(t.path)).toMatchObject({ size: HUGE, ino });
    expect(existsSync(join(t.root, 'in'))).toBe(false);
  });

  it('are deleted and restored by an undo', async () => {
    const t = await withHuge();
    await refusal(t.session.delete('large'), 'NOT_READ');
    await ok(t.session.read('large', { limit: 1 }));
    await ok(t.session.delete('large'));
    expect(existsSync(t.path)).toBe(false);
    await ok(t.session.undo({}));
    const { size, blocks } = statSync(t.path);
    expect(size).toBe(HUGE);
    expect(blocks * 512).toBeLessThan(HUGE / 100);
    expect(openedStart(t.path)).toBe('first line\n');
  });

  it('are not deleted if the store cannot keep their bytes', async () => {
    const t = await withHuge({ store: 'memory:' });
    await ok(t.session.read('large', { limit: 1 }));
    const refused = await refusal(t.session.delete('large'), 'TOO_LARGE');
    expect(refused.detail?.reason).toContain('an undo could not restore it');
    expect(statSync(t.path).size).toBe(HUGE);
  });
});

/** The text at the start of a file, up to the first zero byte. Reads only the first 100 bytes. */
function openedStart(path: string): string {
  const start = Buffer.alloc(100);
  const fd = openSync(path, 'r');
  readSync(fd, start);
  closeSync(fd);
  return start.subarray(0, start.indexOf(0)).toString();
}
