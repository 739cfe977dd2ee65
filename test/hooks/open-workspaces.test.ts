import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HookEvent, HookReply } from '../../src/hooks/event.ts';
import { HookDoor } from '../../src/hooks/hook-door.ts';
import { HOOK_HOSTS } from '../../src/hooks/hosts/hook-hosts.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let door: HookDoor;

/**
 * Sends one event to `door`, which answers many calls like a resident process. `roots`: the
 * workspace of the event.
 */
function send(roots: readonly string[], event: Partial<HookEvent> & object): Promise<HookReply> {
  const [cwd = '/'] = roots;
  const settings = { host: HOOK_HOSTS.generic, cwd, roots: [], state: {} };
  return door.respond(settings, { session: 's', cwd, workspaceRoots: roots, ...event } as HookEvent);
}

const write = (roots: readonly string[], path: string, call: string): Promise<HookReply> =>
  send(roots, { kind: 'before', tool: 'write', input: { path, content: 'new\n' }, call });

/** Makes a folder with the file a.txt. */
function folder(name: string, text = 'one\n'): string {
  const path = join(places.base, name);
  mkdirSync(path);
  writeFileSync(join(path, 'a.txt'), text);
  return path;
}

beforeEach(() => {
  places = scratch();
  const env = { LOOKFIRST_HOME: places.home };
  door = new HookDoor({ env, platform: process.platform, cwd: places.root }, {});
});
afterEach(() => door.close());

const NOT_READ = { verdict: 'deny', reason: expect.stringContaining('[NOT_READ]') };

describe('a process that answers many hook calls', () => {
  it('guards a folder that was missing at the first call', async () => {
    const late = join(places.base, 'late');
    expect(await write([late], 'a.txt', '1')).toEqual({ verdict: 'pass' });
    folder('late');
    expect(await write([late], 'a.txt', '2')).toMatchObject(NOT_READ);
  });

  it('guards the second folder of a workspace as soon as it exists', async () => {
    const [first, late] = [folder('first'), join(places.base, 'late')];
    expect(await write([first, late], 'a.txt', '1')).toMatchObject(NOT_READ);
    folder('late');
    expect(await write([first, late], join(late, 'a.txt'), '2')).toMatchObject(NOT_READ);
  });

  it('works in a folder that was deleted and created again', async () => {
    const root = folder('again');
    expect(await write([root], 'a.txt', '1')).toMatchObject(NOT_READ);
    rmSync(root, { recursive: true });
    const gone = { verdict: 'deny', reason: expect.stringContaining('[UNVERIFIABLE]') };
    expect(await write([root], 'a.txt', 'gone')).toMatchObject(gone);
    folder('again', 'two\n');
    expect(await write([root], 'a.txt', '2')).toMatchObject(NOT_READ);
    const read = { kind: 'after', tool: 'read', input: { path: 'a.txt' }, response: 'two\n' } as const;
    await send([root], read);
    expect(await write([root], 'a.txt', '3')).toEqual({ verdict: 'pass' });
  });

  it('answers calls in more workspaces than it keeps open', async () => {
    const roots = Array.from({ length: 20 }, (_, i) => folder(`tree-${i}`));
    const replies = await Promise.all(roots.map((root) => write([root], 'a.txt', root)));
    expect(replies).toEqual(roots.map(() => NOT_READ));
  });
});
