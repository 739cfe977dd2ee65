import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { PresetName } from '../../src/model/policy.ts';
import { OFFICIAL, official, scratch } from '../proxy/harness.ts';
import { LineClient } from '../proxy/line-client.ts';

/** The official server behind the proxy, under a preset; or, as a control, the server alone. */
export type Guard = Extract<PresetName, 'default' | 'strict' | 'file-time' | 'staleness'> | 'none';

export interface SaveAttack {
  readonly guard: Guard;
  /** Milliseconds between the agent's read and the user's save, taken in turn. */
  readonly pausesMs: readonly number[];
  readonly tries: number;
}

/**
 * An agent reads a file; a user saves it; the agent writes what it made of its read. Returns how often the user's bytes
 * left the live file.
 */
export async function attackSaves({ guard, pausesMs, tries }: SaveAttack): Promise<number> {
  const root = scratch();
  const client = guard === 'none' ? await alone(root) : (await official(root, {}, { preset: guard })).client;
  let lost = 0;
  for (let n = 0; n < tries; n += 1) {
    const path = join(root, `${n}.txt`);
    writeFileSync(path, `one ${n}\n`);
    await client.call('read_text_file', { path });
    const pauseMs = pausesMs[n % pausesMs.length] ?? 0;
    if (pauseMs > 0) await setTimeout(pauseMs);
    // Of the same length: a size tells nothing.
    writeFileSync(path, `two ${n}\n`);
    await client.call('write_file', { path, content: `agent ${n}\n` });
    if (readFileSync(path, 'utf8') !== `two ${n}\n`) lost += 1;
  }
  return lost;
}

async function alone(root: string): Promise<LineClient> {
  const server = spawn(process.execPath, [OFFICIAL, root], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void server.kill());
  const client = new LineClient(server.stdin, server.stdout);
  await client.initialize();
  return client;
}
