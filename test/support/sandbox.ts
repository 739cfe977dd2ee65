import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadNative } from '../../src/disk/context.ts';
import { removeLayer } from '../../src/process/layer.ts';
import type { Probe } from '../../src/process/probe.ts';
import { Processes } from '../../src/process/processes.ts';

/**
 * Returns the sandbox of this machine. If it has none, throws in CI (`CI=true`). Elsewhere, prints
 * one line and returns undefined, so that callers skip their tests.
 */
export async function sandboxHere(): Promise<Extract<Probe, { ok: true }> | undefined> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'lookfirst-probe-')));
  mkdirSync(home, { recursive: true });
  const probe = await new Processes({ home, env: process.env, attributes: loadNative() }).probe();
  removeLayer({ folder: home });
  if (probe.ok) return probe;
  const line = `no sandbox here: ${probe.missing}; ${probe.cure}`;
  if (process.env['CI'] === 'true') throw new Error(line);
  process.stderr.write(`skipped: ${line}\n`);
  return undefined;
}
