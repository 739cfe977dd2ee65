import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadNative } from '../../src/disk/context.ts';
import { explain } from '../../src/report/explain.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok, refusal } from '../support/desk.ts';
import type { CommitStep } from '../support/disk.ts';
import { scratch } from '../support/tree.ts';

describe.skipIf(loadNative() === undefined)('bytes of two programs that collide with a change', () => {
  it('are in the file or kept, and the refusal and the journal say where', async () => {
    const { root, home } = scratch();
    const file = join(root, 'f');
    writeFileSync(file, 'old');
    const sessions = await Sessions.open({ roots: [root], home });
    onTestFinished(() => sessions.close());
    const ann = await sessions.session('ann');
    await ok(ann.read('f'));
    const trace = (step: CommitStep): void => {
      // At `exchange`, another program writes without changing size and times, so only a comparison
      // of bytes can find this. At `verify`, another save replaces our new file.
      if (step === 'exchange') {
        execFileSync('touch', ['-r', file, join(home, 'clock')]);
        writeFileSync(file, 'odd');
        execFileSync('touch', ['-r', join(home, 'clock'), file]);
      }
      if (step !== 'verify') return;
      writeFileSync(join(root, 'x'), 'newest');
      renameSync(join(root, 'x'), file);
    };
    Object.assign(sessions.world.disk, { trace });
    const refused = await refusal(ann.write('f', 'new'), 'STALE');
    expect(readFileSync(file, 'utf8')).toBe('newest');
    const kept = refused.detail?.kept ?? [];
    expect(kept.map((path) => readFileSync(path, 'utf8'))).toEqual(['odd', 'newest', 'odd']);
    expect(explain(refused, { nowMs: 0 })).toContain(kept[0]);
    const [entry] = await sessions.world.store.entries({ kinds: ['notice'] });
    expect(entry?.text).toContain(kept[0]);
  });
});
