import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { HookDoor } from '../../src/hooks/hook-door.ts';
import { lookfirst, objects } from '../support/command-line.ts';
import { type Answer, Hooked } from '../support/hooked.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;

beforeEach(() => {
  places = scratch();
  agent = new Hooked(places);
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
});

describe('a state that is deleted while hooks use it', () => {
  it.each([
    ['the database', (home: string) => ['', '-wal', '-shm'].map((end) => join(home, `lookfirst.db${end}`))],
    ['the folder', (home: string) => [home]],
  ])('%s: a change is refused until the file is read again', async (_what, files) => {
    const write = (): Promise<Answer> =>
      agent.change('write', { path: 'a.txt', content: 'x\n' }, () => undefined);
    await agent.read('a.txt', 'one\n');
    for (const file of files(places.home)) rmSync(file, { recursive: true, force: true });
    expect((await write()).reason).toContain('[NOT_READ]');
    await agent.read('a.txt', 'one\n');
    expect(await write()).toMatchObject({ verdict: 'pass' });
  });
});

describe('calls without a before-event', () => {
  const run = { action: 'run', input: { command: 'make' }, call: 'c1' };

  it('a command is recorded, and the answer, status and doctor say so', async () => {
    const { context } = await agent.send({ event: 'after', ...run, output: '' });
    expect(context).toContain('ran without a check');
    expect(objects(await lookfirst(places, ['log', '--kind', 'unjudged', '--json']))).toHaveLength(1);
    expect((await lookfirst(places, ['status'])).stdout).toContain('1 call ran without a check by Lookfirst');
    const [state] = objects(await lookfirst(places, ['status', '--json']));
    expect(state).toMatchObject({ unjudged: 1 });
    expect((await lookfirst(places, ['doctor'])).stdout).toMatch(
      /warn +unjudged calls +1 in the last 7 days/,
    );
  });

  it.each([
    { event: 'after', output: 'one\n' },
    { event: 'failed', error: 'Exit code 1\none\n' },
  ])('the output of such a command licenses nothing ($event)', async (ended) => {
    const cat = { action: 'run', input: { command: 'cat a.txt' }, call: 'c1' };
    await agent.send({ ...ended, ...cat });
    const write = { action: 'write', input: { path: 'a.txt', content: 'x' }, call: 'c2' };
    const { reason } = await agent.send({ event: 'before', ...write });
    expect(reason).toMatch(/^refusing to overwrite a\.txt: read it first \[NOT_READ\] Next: read \{/);
  });

  it('a judged command is not counted, even if it was settled before its after-event arrived', async () => {
    await agent.send({ event: 'before', ...run });
    await agent.prompt('next');
    expect(await agent.send({ event: 'after', ...run, output: '' })).toEqual({ verdict: 'pass' });
    await agent.send({
      event: 'before',
      action: 'write',
      input: { path: 'b.txt', content: 'x' },
      call: 'c2',
    });
    writeFileSync(join(places.root, 'b.txt'), 'x');
    await agent.other('t').change('write', { path: 'b.txt', content: 'y' }, () => undefined);
    const after = { event: 'after', action: 'write', input: { path: 'b.txt', content: 'x' }, call: 'c2' };
    expect((await agent.send(after)).context ?? '').not.toContain('without a check');
    expect((await lookfirst(places, ['status'])).stdout).not.toContain('without a check');
  });

  it.each([
    ['again', { event: 'after', output: '' }],
    ['after the end of its session', { event: 'end' }],
  ])('a judged command without an effect is not counted if its end is reported %s', async (_when, first) => {
    for (const _ of [1, 2]) await agent.send({ event: 'before', ...run });
    await agent.send({ ...run, ...first });
    expect(await agent.send({ event: 'after', ...run, output: '' })).toEqual({ verdict: 'pass' });
    expect((await lookfirst(places, ['status'])).stdout).not.toContain('without a check');
  });

  it('a judged command that failed shows its files', async () => {
    const cat = { action: 'run', input: { command: 'cat a.txt; exit 1' }, call: 'c1' };
    await agent.send({ event: 'before', ...cat });
    await agent.send({ event: 'failed', ...cat, error: 'Exit code 1\none\n' });
    const write = { action: 'write', input: { path: 'a.txt', content: 'x' }, call: 'c2' };
    expect((await agent.send({ event: 'before', ...write })).verdict).toBe('pass');
  });

  it('a read needs no before-event', async () => {
    expect(await agent.read('a.txt', 'one\n')).toEqual({ verdict: 'pass' });
  });
});

describe('observe', () => {
  it('records changes that would have been refused, and they can be undone', async () => {
    writeFileSync(join(places.home, 'lookfirst.json'), '{"mode": "observe"}');
    const input = { path: 'a.txt', content: 'two\n' };
    const answer = await agent.change('write', input, () =>
      writeFileSync(join(places.root, 'a.txt'), 'two\n'),
    );
    expect(answer).toEqual({ verdict: 'pass' });
    expect(await agent.shell('echo three > a.txt')).toEqual({ verdict: 'pass' });
    const kinds = objects(await lookfirst(places, ['log', '--kind', 'change,refusal,unjudged', '--json']));
    expect(kinds.map(({ kind, code }) => code ?? kind)).toEqual(['change', 'change', 'NOT_READ']);
    await lookfirst(places, ['undo']);
    await lookfirst(places, ['undo']);
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\n');
  });

  it('report shows which refusals would have been right', async () => {
    writeFileSync(join(places.home, 'lookfirst.json'), '{"mode": "observe"}');
    const put = (name: string, text: string) => () => writeFileSync(join(places.root, name), text);
    put('b.txt', 'keep\n')();
    await agent.change('write', { path: 'a.txt', content: 'two\n' }, put('a.txt', 'two\n'));
    await agent.change('write', { path: 'b.txt', content: 'keep\nmore\n' }, put('b.txt', 'keep\nmore\n'));
    await agent.send({ event: 'before', action: 'delete', input: { path: 'lookfirst-none' }, call: 'x' });
    const rows = objects(await lookfirst(places, ['audit', '--observed', '--json']));
    const verdicts = rows.map(({ path, code, verdict }) => `${path} ${code} ${verdict}`);
    expect(verdicts).toContain('a.txt NOT_READ right');
    expect(verdicts).toContain('b.txt NOT_READ wrong');
    const { stdout } = await lookfirst(places, ['audit', '--observed']);
    expect(stdout).toMatch(/would have been refused: 1 right, 1 wrong/);
  });

  it('a changed policy file applies to the next call', async () => {
    const blind = { event: 'before', action: 'write', input: { path: 'a.txt', content: 'x' } };
    expect((await agent.send({ ...blind, call: '1' })).verdict).toBe('deny');
    writeFileSync(join(places.home, 'lookfirst.json'), '{"mode": "observe"}');
    expect((await agent.send({ ...blind, call: '2' })).verdict).toBe('pass');
    writeFileSync(join(places.home, 'lookfirst.json'), '{"mode": ');
    await expect(agent.send({ ...blind, call: '3' })).rejects.toThrow('lookfirst.json');
  });
});

describe('a root that cannot be guarded', () => {
  it('is left out with a notice, and calls elsewhere are judged', async () => {
    const inside = join(places.home, 'inside');
    mkdirSync(inside);
    const roots = [places.root, inside];
    expect((await agent.prompt('x', { roots })).context).toContain('does not guard');
    const blind = { event: 'before', action: 'write', roots };
    expect((await agent.send({ ...blind, input: { path: 'a.txt', content: 'x' } })).verdict).toBe('deny');
    const alone = { ...blind, roots: [inside], cwd: inside, input: { path: 'b.txt', content: 'x' } };
    expect(await agent.send(alone)).toEqual({ verdict: 'pass' });
  });
});

it('`hooks.outside: refuse` denies a change outside the workspace, which passes by default', async () => {
  const path = join(places.outside, 'o.txt');
  const write = { event: 'before', action: 'write', input: { path, content: 'x' } };
  expect(await agent.send({ ...write, call: '1' })).toEqual({ verdict: 'pass' });
  writeFileSync(join(places.home, 'lookfirst.json'), '{"hooks": {"outside": "refuse"}}');
  const { reason } = await agent.send({ ...write, call: '2' });
  expect(reason).toMatch(/^refusing to overwrite .*\[OUTSIDE_WORKSPACE\]/);
  for (const command of [`echo x > ${path}`, `cp a.txt ${path}`, `sed -i s/a/b/ ${path}`]) {
    const run = { event: 'before', action: 'run', input: { command }, call: command };
    expect([command, (await agent.send(run)).reason]).toEqual([
      command,
      expect.stringContaining('[OUTSIDE_WORKSPACE]'),
    ]);
  }
  const inside = { event: 'before', action: 'run', input: { command: 'echo x > new.txt 2>/dev/null' } };
  expect(await agent.send({ ...inside, call: '3' })).toEqual({ verdict: 'pass' });
});

describe('a move between the workspace and another folder', () => {
  it('over an unread file is denied', async () => {
    const source = join(places.outside, 'o.txt');
    writeFileSync(source, 'other\n');
    const move = { event: 'before', action: 'move', input: { source, destination: 'a.txt' }, call: '1' };
    expect((await agent.send(move)).reason).toContain('[NOT_READ]');
  });

  it('out of the workspace is recorded and can be undone', async () => {
    const destination = join(places.outside, 'o.txt');
    const input = { source: 'a.txt', destination };
    await agent.read('a.txt', 'one\n');
    await agent.change('move', input, () => renameSync(join(places.root, 'a.txt'), destination));
    await lookfirst(places, ['undo']);
    expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('one\n');
  });

  describe('beside a change of another file', () => {
    let moved: string;
    let other: string;
    let patch: string;
    let make: () => void;

    beforeEach(async () => {
      moved = join(places.root, 'a.txt');
      other = join(places.root, 'b.txt');
      const destination = join(places.outside, 'o.txt');
      writeFileSync(other, 'two\n');
      await agent.read('b.txt', 'two\n');
      patch = [
        '*** Begin Patch',
        '*** Update File: b.txt\n@@\n-two\n+three',
        `*** Update File: a.txt\n*** Move to: ${destination}`,
        '*** End Patch\n',
      ].join('\n');
      make = () => {
        writeFileSync(other, 'three\n');
        renameSync(moved, destination);
      };
    });

    it('can be undone with it', async () => {
      expect((await agent.change('patch', { patch }, make)).verdict).toBe('pass');
      await lookfirst(places, ['undo']);
      await lookfirst(places, ['undo']);
      expect([readFileSync(moved, 'utf8'), readFileSync(other, 'utf8')]).toEqual(['one\n', 'two\n']);
    });

    it('is recorded once, without notices, if each event comes twice', async () => {
      const call = { action: 'patch', input: { patch }, call: 'c1' };
      for (const _ of [1, 2]) await agent.send({ event: 'before', ...call });
      make();
      for (const _ of [1, 2])
        expect(await agent.send({ event: 'after', ...call })).not.toHaveProperty('context');
      expect(objects(await lookfirst(places, ['log', '--kind', 'change', '--json']))).toHaveLength(2);
    });
  });
});

describe('a state that cannot be opened', () => {
  const blind = { event: 'before', action: 'write', input: { path: 'a.txt', content: 'x' }, call: '1' };

  it('denies changes and lets other events pass', async () => {
    const env = { LOOKFIRST_STORE: 'nonsense:' };
    const door = new HookDoor(
      { env: { LOOKFIRST_HOME: places.home, ...env }, platform: 'linux', cwd: '/' },
      {},
    );
    const other = new Hooked(places, { door });
    await expect(other.send(blind)).rejects.toThrow('nonsense:');
    await expect(other.prompt('x')).rejects.toThrow('the client continues');
  });

  it('denies changes if an agent can write the policy file through a hard link', async () => {
    const policy = join(places.home, 'lookfirst.json');
    writeFileSync(policy, '{}');
    linkSync(policy, join(places.root, 'other-name.json'));
    await expect(agent.send(blind)).rejects.toThrow('hard link');
  });
});

describe('a policy file with a setting that no longer exists', () => {
  it('is named at the start of a session, and by doctor', async () => {
    writeFileSync(join(places.home, 'lookfirst.json'), '{"hugeBytes":5}');
    const { context } = await agent.send({ event: 'start' });
    expect(context).toContain('"hugeBytes" no longer exists and is ignored');
    const { stdout } = await lookfirst(places, ['doctor']);
    expect(stdout).toMatch(/^warn +policy .*"hugeBytes" no longer exists/m);
  });
});
