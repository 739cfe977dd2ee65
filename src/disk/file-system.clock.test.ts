import { lstatSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HAS_MEMORY, IN_MEMORY, scratch } from '../../test/support/tree.ts';
import { FileSystemClock } from './file-system.ts';

/**
 * Polls until the clock accepts the file's stat fields (stamp) as proof of its bytes. False after 5
 * seconds.
 */
function settle(clock: FileSystemClock, file: string): boolean {
  const deadlineMs = Date.now() + 5000;
  while (Date.now() < deadlineMs) {
    if (!clock.isRacy(lstatSync(file, { bigint: true }), file)) return true;
  }
  return false;
}

describe('a stamp', () => {
  it('of a file just changed is racy for a clock without a probe', () => {
    const { root } = scratch();
    const file = join(root, 'f');
    writeFileSync(file, 'x');
    expect(new FileSystemClock().isRacy(lstatSync(file, { bigint: true }), file)).toBe(true);
  });

  it("counts as soon as the file system's clock has advanced", () => {
    const { root, home } = scratch();
    const file = join(root, 'f');
    const clock = new FileSystemClock(join(home, 'clock'));
    writeFileSync(file, 'x');
    expect(settle(clock, file)).toBe(true);
    clock.close();
  });

  it('of a file that is older than an earlier probe needs no further probe', () => {
    const { root, home } = scratch();
    const [file, probe] = [join(root, 'f'), join(home, 'clock')];
    const clock = new FileSystemClock(probe);
    writeFileSync(file, 'x');
    settle(clock, file);
    utimesSync(probe, 0, 0);
    expect(clock.isRacy(lstatSync(file, { bigint: true }), file)).toBe(false);
    expect(lstatSync(probe).mtimeMs).toBe(0);
    writeFileSync(file, 'y');
    settle(clock, file);
    expect(lstatSync(probe).mtimeMs, 'a newer file').toBeGreaterThan(0);
    clock.close();
  });

  it.skipIf(process.platform !== 'linux')('is racy if the clock cannot be probed, as on a full disk', () => {
    const { root } = scratch();
    const file = join(root, 'f');
    writeFileSync(file, 'x');
    const clock = new FileSystemClock('/dev/full');
    const { dev } = lstatSync('/dev/full', { bigint: true });
    expect(clock.isRacy({ ...lstatSync(file, { bigint: true }), dev }, file)).toBe(true);
    clock.close();
  });

  it('is probed again after the system clock was set back', () => {
    const { root, home } = scratch();
    const [file, probe] = [join(root, 'f'), join(home, 'clock')];
    const clock = new FileSystemClock(probe);
    writeFileSync(file, 'x');
    settle(clock, file);
    utimesSync(probe, 0, 0);
    vi.useFakeTimers({ now: Date.now() - 3_600_000, toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    clock.isRacy(lstatSync(file, { bigint: true }), file);
    expect(lstatSync(probe).mtimeMs).toBeGreaterThan(0);
    clock.close();
  });

  it('is racy if its time is in the future', () => {
    const { root, home } = scratch();
    const file = join(root, 'f');
    const clock = new FileSystemClock(join(home, 'clock'));
    writeFileSync(file, 'x');
    settle(clock, file);
    utimesSync(file, new Date(), new Date(Date.now() + 3_600_000));
    expect(clock.isRacy(lstatSync(file, { bigint: true }), file)).toBe(true);
    clock.close();
  });

  it.skipIf(!HAS_MEMORY)("is racy if the clock's probe is on another file system", () => {
    const [here, there] = [scratch(), scratch(IN_MEMORY)];
    const file = join(here.root, 'f');
    const clock = new FileSystemClock(join(there.home, 'clock'));
    writeFileSync(file, 'x');
    expect(clock.isRacy(lstatSync(file, { bigint: true }), file)).toBe(true);
    clock.close();
  });

  it('never hides a change of the same size in the same tick', () => {
    const { root, home } = scratch();
    const file = join(root, 'f');
    const clock = new FileSystemClock(join(home, 'clock'));
    let hidden = 0;
    for (let turn = 0; turn < 500; turn += 1) {
      writeFileSync(file, 'a');
      const stats = lstatSync(file, { bigint: true });
      const racy = clock.isRacy(stats, file);
      writeFileSync(file, 'b');
      const after = lstatSync(file, { bigint: true });
      const same =
        after.mtimeNs === stats.mtimeNs && after.ctimeNs === stats.ctimeNs && after.ino === stats.ino;
      if (same && !racy) hidden += 1;
    }
    expect(hidden).toBe(0);
    clock.close();
  });
});
