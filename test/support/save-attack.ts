import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { PresetName } from '../../src/model/policy.ts';
import { OFFICIAL, official, scratch } from '../proxy/harness.ts';
import { LineClient } from '../proxy/line-client.ts';

/**
 * The preset of the proxy that protects the file, in front of the official server. `none` is the
 * control: the agent calls the official server directly.
 */
export type Guard = Extract<PresetName, 'default' | 'strict' | 'file-time' | 'staleness'> | 'none';

/**
 * Number of tries that run at the same time, each on its own file, so that their pauses overlap.
 */
const LANES = 10;

export interface SaveAttack {
  readonly guard: Guard;
  /** Milliseconds between the agent's read and the user's save, taken in turn. */
  readonly pausesMs: readonly number[];
  readonly tries: number;
}

/**
 * An agent reads a file, the user saves it, and the agent writes a change based on its read.
 * Returns how often the agent overwrote the user's bytes.
 */
export async function attackSaves({ guard, pausesMs, tries }: SaveAttack): Promise<number> {
  const root = scratch();
  const client = guard === 'none' ? await alone(root) : (await official(root, {}, { preset: guard })).client;
  let lost = 0;
  const lane = async (first: number): Promise<void> => {
    for (let n = first; n < tries; n += LANES) {
      const path = join(root, `${n}.txt`);
      writeFileSync(path, `one ${n}\n`);
      await client.call('read_text_file', { path });
      const pauseMs = pausesMs[n % pausesMs.length] ?? 0;
      if (pauseMs > 0) await setTimeout(pauseMs);
      // The new text has the same length, so that the size does not reveal the save.
      writeFileSync(path, `two ${n}\n`);
      await client.call('write_file', { path, content: `agent ${n}\n` });
      if (readFileSync(path, 'utf8') !== `two ${n}\n`) lost += 1;
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)));
  return lost;
}

async function alone(root: string): Promise<LineClient> {
  const server = spawn(process.execPath, [OFFICIAL, root], { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void server.kill());
  const client = new LineClient(server.stdin, server.stdout);
  await client.initialize();
  return client;
}
