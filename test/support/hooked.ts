import { spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { answerHook } from '../../src/hooks/answer-hook.ts';
import { HookDoor } from '../../src/hooks/hook-door.ts';
import { HOOK_HOSTS } from '../../src/hooks/hosts/hook-hosts.ts';
import type { StateFlags } from '../../src/session/configured.ts';
import type { Scratch } from './tree.ts';

/** An answer to one event in the generic format. */
export interface Answer {
  readonly verdict: 'pass' | 'deny';
  readonly reason?: string;
  readonly context?: string;
}

/**
 * A harness that sends generic events to a `HookDoor` in this process. The `HookDoor` answers them
 * as in the background process.
 */
export class Hooked {
  readonly places: Scratch;
  readonly session: string;
  readonly #door: HookDoor;
  #calls = 0;

  constructor(places: Scratch, { session = 's', door }: { session?: string; door?: HookDoor } = {}) {
    this.places = places;
    this.session = session;
    this.#door = door ?? openDoor(places);
  }

  /** Another session, whose events go to the same `HookDoor`. */
  other(session: string): Hooked {
    return new Hooked(this.places, { session, door: this.#door });
  }

  async send(event: object): Promise<Answer> {
    const payload = { session: this.session, cwd: this.places.root, ...event };
    const host = HOOK_HOSTS.generic;
    const settings = { host, cwd: this.places.root, roots: [], state: {} };
    const call = { host, text: JSON.stringify(payload), onFailure: 'deny' } as const;
    const answer = await answerHook(call, (neutral) => this.#door.respond(settings, neutral));
    if (answer.stdout === '') throw new Error(answer.stderr);
    return JSON.parse(answer.stdout) as Answer;
  }

  prompt(text: string, more: object = {}): Promise<Answer> {
    return this.send({ event: 'prompt', prompt: text, ...more });
  }

  /** A read with the agent program's own tool: the model is shown the whole text. */
  async read(path: string, text: string): Promise<Answer> {
    return this.send({ event: 'after', action: 'read', input: { path }, output: text, call: this.#next() });
  }

  /** A change with the agent program's own tool: the before-event, the change, the after-event. */
  async change(action: string, input: object, make: () => void): Promise<Answer> {
    const call = this.#next();
    const before = await this.send({ event: 'before', action, input, call });
    if (before.verdict === 'deny') return before;
    make();
    const after = await this.send({ event: 'after', action, input, call });
    return { ...before, ...after };
  }

  /** A shell command: the before-event, the command itself, the after-event with its output. */
  async shell(command: string, meanwhile: () => void = () => undefined): Promise<Answer> {
    const call = this.#next();
    const before = await this.send({ event: 'before', action: 'run', input: { command }, call });
    if (before.verdict === 'deny') return before;
    meanwhile();
    const output = await outputOf(command, this.places.root);
    const after = await this.send({ event: 'after', action: 'run', input: { command }, call, output });
    return { ...before, ...after };
  }

  /** Like `shell`, but runs the command again if it is refused once for what it would destroy. */
  async insist(command: string): Promise<Answer> {
    const first = await this.shell(command);
    return first.reason?.includes('[WOULD_DESTROY]') === true ? this.shell(command) : first;
  }

  #next(): string {
    this.#calls += 1;
    return `${this.session}-${this.#calls}`;
  }
}

export function openDoor({ root, home }: Scratch, flags: StateFlags = {}): HookDoor {
  const env = { LOOKFIRST_HOME: home };
  const door = new HookDoor({ env, platform: process.platform, cwd: root }, flags);
  onTestFinished(() => door.close());
  return door;
}

export function outputOf(command: string, cwd: string): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', command], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    child.stdout.on('data', (part) => (text += part));
    child.stderr.on('data', (part) => (text += part));
    child.on('close', () => resolve(text));
  });
}
