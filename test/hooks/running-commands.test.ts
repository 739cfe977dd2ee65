import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { Hooked, outputOf } from '../support/hooked.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;
let other: Hooked;

const RUN = { action: 'run', input: { command: './long-script' }, call: 'c1' };

function put(name: string, text: string): void {
  writeFileSync(join(places.root, name), text);
}

function get(name: string): string {
  return readFileSync(join(places.root, name), 'utf8');
}

function write(by: Hooked, path: string, content: string) {
  return by.change('write', { path, content }, () => put(path, content));
}

/** The sessions, paths and ids of all recorded changes, oldest first. */
async function changes(): Promise<readonly Record<string, unknown>[]> {
  return objects(await lookfirst(places, ['log', '--kind', 'change', '--json'])).toReversed();
}

async function undo(...args: readonly string[]): Promise<void> {
  expect(await lookfirst(places, ['undo', ...args, '--yes'])).toMatchObject({ code: 0 });
}

beforeEach(() => {
  places = scratch();
  agent = new Hooked(places, { session: 'a' });
  other = agent.other('b');
});

describe('a write to a file that the session of a running command has seen', () => {
  beforeEach(async () => {
    put('seen.txt', 'seen\n');
    put('first.txt', 'first\n');
    put('later.txt', 'later\n');
    await agent.read('seen.txt', 'seen\n');
    await other.read('seen.txt', 'seen\n');
  });

  it.each([
    ['another session', () => other],
    ['the same session', () => agent],
  ])('by %s leaves the command pending, so that all of it can be undone', async (_name, writer) => {
    await agent.send({ event: 'before', ...RUN });
    put('first.txt', 'by the command\n');
    expect(await write(writer(), 'seen.txt', 'written\n')).toMatchObject({ verdict: 'pass' });
    rmSync(join(places.root, 'later.txt'));
    await agent.send({ event: 'after', ...RUN, output: '' });
    const recorded = await changes();
    expect(recorded.map(({ action }) => action)).toEqual(['overwrite', 'run']);
    await undo(String(recorded[1]?.['change']));
    expect([get('first.txt'), get('later.txt'), get('seen.txt')]).toEqual([
      'first\n',
      'later\n',
      'written\n',
    ]);
  });

  it('records first what the command has already changed in that file', async () => {
    await agent.send({ event: 'before', ...RUN });
    put('seen.txt', 'by the command\n');
    await other.read('seen.txt', 'by the command\n');
    expect(await write(other, 'seen.txt', 'written\n')).toMatchObject({ verdict: 'pass' });
    put('later.txt', 'by the command\n');
    await agent.send({ event: 'after', ...RUN, output: '' });
    const recorded = await changes();
    expect(recorded.map(({ session, path }) => [session, path])).toEqual([
      ['a', 'seen.txt'],
      ['b', 'seen.txt'],
      ['a', 'later.txt'],
    ]);
    await undo('--session', 'b');
    expect(get('seen.txt')).toBe('by the command\n');
    await undo('--session', 'a');
    expect([get('seen.txt'), get('later.txt')]).toEqual(['seen\n', 'later\n']);
  });

  it('gives the command no notice about a change of its own session', async () => {
    await agent.send({ event: 'before', ...RUN });
    put('seen.txt', 'by the command\n');
    await agent.read('seen.txt', 'by the command\n');
    await write(agent, 'seen.txt', 'written\n');
    put('new.txt', 'by the command\n');
    expect(await agent.send({ event: 'after', ...RUN, output: '' })).toEqual({ verdict: 'pass' });
    await undo('--session', 'a');
    expect(get('seen.txt')).toBe('seen\n');
    expect(existsSync(join(places.root, 'new.txt'))).toBe(false);
  });
});

describe('a write that another session makes while a command runs, and reports after its end', () => {
  const WRITE = { action: 'write', input: { path: 'f.txt', content: 'written\n' }, call: 'w1' };

  beforeEach(async () => {
    await outputOf('git init -q .', places.root);
    put('f.txt', 'f\n');
    await outputOf('git add -A && git -c user.name=n -c user.email=e commit -qm 1', places.root);
  });

  async function recorded(): Promise<readonly unknown[]> {
    return (await changes()).map(({ session, action, path }) => [session, action, path]);
  }

  it('is recorded for that session only, and undo of the command leaves it', async () => {
    await other.read('f.txt', 'f\n');
    await agent.send({ event: 'before', ...RUN });
    await other.send({ event: 'before', ...WRITE });
    put('f.txt', 'written\n');
    put('g.txt', 'by the command\n');
    await agent.send({ event: 'after', ...RUN, output: '' });
    expect(await other.send({ event: 'after', ...WRITE })).toEqual({ verdict: 'pass' });
    expect(await recorded()).toEqual([
      ['a', 'run', 'g.txt'],
      ['b', 'overwrite', 'f.txt'],
    ]);
    await undo('--session', 'a');
    expect(get('f.txt')).toBe('written\n');
    await undo('--session', 'b');
    expect(get('f.txt')).toBe('f\n');
  });

  it('is separated from what the command changed in the same file before it', async () => {
    await agent.send({ event: 'before', ...RUN });
    put('f.txt', 'by the command\n');
    await other.read('f.txt', 'by the command\n');
    await other.send({ event: 'before', ...WRITE });
    put('f.txt', 'written\n');
    await agent.send({ event: 'after', ...RUN, output: '' });
    await other.send({ event: 'after', ...WRITE });
    expect(await recorded()).toEqual([
      ['a', 'run', 'f.txt'],
      ['b', 'overwrite', 'f.txt'],
    ]);
    await undo('--session', 'b');
    expect(get('f.txt')).toBe('by the command\n');
    await undo('--session', 'a');
    expect(get('f.txt')).toBe('f\n');
  });

  it('is recorded for that session even if the client wrote other bytes than announced', async () => {
    await other.read('f.txt', 'f\n');
    await agent.send({ event: 'before', ...RUN });
    await other.send({ event: 'before', ...WRITE });
    put('f.txt', 'written\r\n');
    const ended = agent.send({ event: 'after', ...RUN, output: '' });
    await setTimeout(200);
    await other.send({ event: 'after', ...WRITE });
    await ended;
    expect(await recorded()).toEqual([['b', 'overwrite', 'f.txt']]);
  });

  it('does not hide what the command itself changes before the announced write', async () => {
    await other.read('f.txt', 'f\n');
    await agent.send({ event: 'before', ...RUN });
    await other.send({ event: 'before', ...WRITE });
    put('f.txt', 'by the command\n');
    await agent.send({ event: 'after', ...RUN, output: '' });
    expect(await recorded()).toEqual([['a', 'run', 'f.txt']]);
  });
});

describe('the notice that a command dropped a change', () => {
  beforeEach(async () => {
    put('a.txt', 'one\ntwo\n');
    await agent.read('a.txt', 'one\ntwo\n');
  });

  it.each([
    ['writes the file', () => write(agent, 'a.txt', 'mine\n')],
    ['changes the file by another command', () => agent.shell('sed -i s/one/ONE/ a.txt')],
    [
      'reads an edit of the user',
      async () => {
        put('a.txt', 'one\ntwo\nby the user\n');
        await agent.read('a.txt', 'one\ntwo\nby the user\n');
      },
    ],
  ])('is not given if the session %s while the command runs', async (_name, meanwhile) => {
    await agent.send({ event: 'before', ...RUN });
    await meanwhile();
    expect(await agent.send({ event: 'after', ...RUN, output: '' })).toEqual({ verdict: 'pass' });
  });

  it('is given if the change was made before the command, and the session has not seen it', async () => {
    put('a.txt', 'one\ntwo\nby the user\n');
    await agent.send({ event: 'before', ...RUN });
    put('a.txt', 'ONE\ntwo\n');
    const { context } = await agent.send({ event: 'after', ...RUN, output: '' });
    const [recorded] = await changes();
    expect(context).toContain('dropped a change to a.txt');
    expect(context).toContain(`lookfirst undo ${recorded?.['change']}`);
  });
});
