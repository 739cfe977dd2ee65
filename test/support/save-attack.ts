import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { PresetName } from '../../src/model/policy.ts';
import { OFFICIAL, scratch, startProxy } from '../proxy/harness.ts';
import { LineClient } from '../proxy/line-client.ts';

/**
 * The preset of the proxy that protects the file. `none` is the control: the agent calls the server
 * directly.
 */
export type Guard = PresetName | 'none';

/** The server that the agent uses: the official one, or one that no table describes. */
export type Server = 'official' | 'unknown';

const UNKNOWN = fileURLToPath(new URL('../children/odd-server.mjs', import.meta.url));

/**
 * Number of tries that run at the same time, each on its own file, so that their pauses overlap.
 */
const LANES = 10;

export interface SaveAttack {
  readonly guard: Guard;
  /** Default: the official server. */
  readonly server?: Server;
  /** Milliseconds between the agent's read and the user's save, taken in turn. */
  readonly pausesMs: readonly number[];
  readonly tries: number;
}

/**
 * An agent reads a file, the user saves it, and the agent writes a change based on its read.
 * Returns how often the agent overwrote the user's bytes without a note about them.
 */
export async function attackSaves({
  guard,
  server = 'official',
  pausesMs,
  tries,
}: SaveAttack): Promise<number> {
  const root = scratch();
  const args = server === 'official' ? [OFFICIAL, root] : [UNKNOWN, 'nobody-knows-me'];
  const client = guard === 'none' ? await alone(args) : await behindProxy(root, args, guard);
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
      const { text } = await client.call('write_file', { path, content: `agent ${n}\n` });
      const isLost = readFileSync(path, 'utf8') !== `two ${n}\n`;
      if (isLost && !text.includes('modified externally')) lost += 1;
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)));
  return lost;
}

async function behindProxy(root: string, args: string[], preset: PresetName): Promise<LineClient> {
  const { client } = await startProxy(root, { command: process.execPath, args, graceMs: 200 }, { preset });
  await client.initialize();
  return client;
}

async function alone(args: string[]): Promise<LineClient> {
  const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void server.kill());
  const client = new LineClient(server.stdin, server.stdout);
  await client.initialize();
  return client;
}
