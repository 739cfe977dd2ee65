import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';
import type { PolicyOverrides } from '../../src/config/resolve-policy.ts';
import type { RunResult } from '../../src/model/results.ts';
import type { RunOptions } from '../../src/model/session.ts';
import type { Refusal } from '../../src/model/verdict.ts';
import { removeLayer } from '../../src/process/layer.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { sandboxHere } from './sandbox.ts';

/** The sandbox of this machine; undefined if there is none. */
export const here: Awaited<ReturnType<typeof sandboxHere>> = await sandboxHere();

export let base: string;
export let root: string;
export let sessions: Sessions;
export let session: GatedSession;

export async function open(
  policy: PolicyOverrides = {},
  readOnlyRoots: readonly string[] = [],
): Promise<void> {
  await sessions?.close();
  sessions = await Sessions.open({ roots: [root], home: join(base, 'state'), policy, readOnlyRoots });
  session = await sessions.session('agent');
}

/** Gives each test of the calling file a workspace of its own. */
export function useWorkspace(): void {
  beforeEach(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-run-')));
    root = join(base, 'work');
    mkdirSync(root);
    await open();
  });

  afterEach(async () => {
    await sessions.close();
    // A command's overlay layer may contain folders without permissions, which `rm` cannot remove.
    removeLayer({ folder: base });
  });
}

export function put(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

export const text = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Runs a command, again if it is refused once for what it would destroy. */
async function insisting(command: string, options?: RunOptions): ReturnType<GatedSession['run']> {
  const first = await session.run(command, options);
  return !first.ok && first.refusal.code === 'WOULD_DESTROY' ? session.run(command, options) : first;
}

export async function ran(command: string, options?: RunOptions): Promise<RunResult> {
  const outcome = await insisting(command, options);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return outcome;
}

export async function refusedRun(command: string, options?: RunOptions): Promise<Refusal> {
  const outcome = await insisting(command, options);
  if (outcome.ok) throw new Error(`not refused: ${JSON.stringify(outcome)}`);
  return outcome.refusal;
}

/**
 * Runs a command. Another program (`write`) writes after the command's own writes and before the
 * command ends. The other program first waits 20 ms, longer than a tick of the clock that stamps
 * files. Otherwise its write could have the time of the command's start, and would count as a
 * conflict.
 */
export function runBeside(command: string, write: () => unknown): ReturnType<GatedSession['run']> {
  const go = join(base, 'go');
  return insisting(`${command}; echo ready; while ! [ -e '${go}' ]; do sleep 0.01; done`, {
    profile: 'undo',
    onProgress: () => {
      void setTimeout(20)
        .then(write)
        .finally(() => writeFileSync(go, ''));
    },
  });
}
