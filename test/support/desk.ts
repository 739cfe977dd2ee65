import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Outcome, RefusalCode, RefusalOf } from '../../src/model/verdict.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { openSession, type SessionOptions } from '../../src/session/sessions.ts';
import { type Scratch, scratch } from './tree.ts';

/** A workspace with a session, and short functions for what tests do with both. */
export interface Desk extends Scratch {
  readonly session: GatedSession;
  /** Writes a file from outside, as an editor would. */
  put(name: string, content: string | Uint8Array): Promise<void>;
  text(name: string): string;
  /** Another session on the same workspace and state. */
  open(options?: Partial<SessionOptions>): Promise<GatedSession>;
}

export async function desk(options: Partial<SessionOptions> = {}): Promise<Desk> {
  const places = scratch();
  const open = async (more: Partial<SessionOptions> = {}): Promise<GatedSession> => {
    const session = await openSession({ roots: [places.root], home: places.home, ...options, ...more });
    onTestFinished(() => session.close());
    return session;
  };
  return {
    ...places,
    session: await open(),
    open,
    put: async (name, content) => {
      await mkdir(dirname(join(places.root, name)), { recursive: true });
      writeFileSync(join(places.root, name), content);
    },
    text: (name) => readFileSync(join(places.root, name), 'utf8'),
  };
}

/** Returns the successful outcome. Fails with the refusal's data if the call was refused. */
export async function ok<T>(outcome: Promise<Outcome<T>> | Outcome<T>): Promise<{ ok: true } & T> {
  const settled = await outcome;
  if (!settled.ok) expect.fail(`refused: ${JSON.stringify(settled.refusal)}`);
  return settled;
}

/** Returns the refusal. Fails if the call succeeded, or if the refusal has another code. */
export async function refusal<T, C extends RefusalCode>(
  outcome: Promise<Outcome<T>>,
  code: C,
): Promise<RefusalOf<C>> {
  const settled = await outcome;
  if (settled.ok) expect.fail(`expected ${code}, but it went through`);
  expect(settled.refusal.code, JSON.stringify(settled.refusal)).toBe(code);
  // The line above has compared the codes.
  return settled.refusal as RefusalOf<C>;
}
