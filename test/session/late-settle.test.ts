import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { recoverWorld } from '../../src/gate/recover.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { ok } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';

/** Older than the age from which another process may record the result of a hook's change. */
const ABANDONED_MS = 11 * 60_000;

it('a command that a clean-up and its host settle at the same time is in the journal once', async () => {
  const { root, home } = scratch();
  const git = (...args: string[]): unknown => execFileSync('git', args, { cwd: root });
  writeFileSync(join(root, 'a.txt'), 'one\n');
  git('init', '-q');
  git('add', '-A');
  git('-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-qm', 'one');
  let lateMs = 0;
  const sessions = await Sessions.open({ roots: [root], home, now: () => Date.now() + lateMs });
  onTestFinished(() => sessions.close());
  const session = await sessions.session('agent');
  // The session has seen no file, so the announcement names no file that could be locked.
  const change = await session.announceCommand('echo two > a.txt');
  writeFileSync(join(root, 'a.txt'), 'two\n');
  lateMs = ABANDONED_MS;
  await Promise.all([recoverWorld(sessions.world), ok(session.settle(change, 'done'))]);
  expect(await sessions.world.store.entries({ change, kinds: ['change'] })).toHaveLength(1);
});
