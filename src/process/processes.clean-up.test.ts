import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONFINE, commandBench, UNDO } from '../../test/support/command-bench.ts';
import { keepLayer, makeLayer, removeLayer, removeSpentLayers } from './layer.ts';
import { Processes } from './processes.ts';

const at = await commandBench();
const { here, attributes } = at;

describe('the probe', () => {
  it('reports the missing program and how to install it', async () => {
    const probe = await new Processes({ home: at.home, env: process.env, attributes: undefined }).probe();
    expect(probe).toMatchObject({ ok: false, missing: expect.stringContaining('attributes') });
  });

  it.skipIf(here === undefined)(
    'reports a state folder that cannot be written, and names a way out',
    async () => {
      const home = join(at.home, 'a-file', 'state');
      writeFileSync(join(at.home, 'a-file'), '');
      const probe = await new Processes({ home, env: process.env, attributes }).probe();
      expect(probe).toEqual({
        ok: false,
        missing: `the state folder ${home} cannot be written (ENOTDIR)`,
        cure: 'set LOOKFIRST_HOME to a folder that this user may write',
      });
    },
  );

  it('leaves no files behind', async () => {
    const processes = at.processes();
    expect(await processes.probe()).toBe(await processes.probe());
    expect(existsSync(join(at.home, 'layers')) ? readdirSync(join(at.home, 'layers')) : []).toEqual([]);
  });
});

describe('a command whose sandbox is still starting', () => {
  const processesOf = (id: string): readonly string[] =>
    readdirSync('/proc').filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`LOOKFIRST_COMMAND=${id}\0`);
      } catch {
        return false;
      }
    });

  it.skipIf(here === undefined).each([
    ['undo', UNDO],
    ['confine', CONFINE],
  ])('leaves no process behind if it is cancelled: %s', async (_kind, profile) => {
    const ids = Array.from({ length: 40 }, () => `r${randomUUID().replaceAll('-', '')}`);
    for (const [round, id] of ids.entries()) {
      const control = new AbortController();
      setTimeout(() => control.abort(), round / 4);
      const { layer } = await at.run('sleep 100', { id, profile, signal: control.signal });
      removeLayer(layer);
    }
    await expect.poll(() => ids.flatMap(processesOf)).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')(
    'is ended by the next command if its process was killed, and its layer removed',
    async () => {
      const [dead, alive] = [0, 1].map(() => `r${randomUUID().replaceAll('-', '')}`);
      const waiting = [dead, alive].map((id) => {
        makeLayer(at.home, id ?? '', [], id === dead ? 'killed' : 'me');
        return spawn('sleep', ['100'], { env: { ...process.env, LOOKFIRST_COMMAND: id }, stdio: 'ignore' });
      });
      const ended = once(waiting[0] ?? process, 'exit');
      const owner = { tag: 'me', isTagAlive: (tag: string) => tag === 'me' };
      new Processes({ home: at.home, env: {}, attributes: undefined, owner }).expire({
        nowMs: Date.now(),
        dryRun: false,
      });
      expect(await ended).toEqual([null, 'SIGKILL']);
      expect(readdirSync(join(at.home, 'layers'))).toEqual([alive]);
      expect(readdirSync(join(at.home, 'spent-layers'))).toEqual([]);
      expect(processesOf(alive ?? '')).toEqual([String(waiting[1]?.pid)]);
      waiting[1]?.kill();
    },
  );
});

it.skipIf(process.platform !== 'linux')(
  'a probe whose process was killed is ended by the next clean-up',
  async () => {
    const programs = join(at.home, 'programs');
    mkdirSync(programs);
    writeFileSync(join(programs, 'unshare'), '#!/bin/sh\nexec sleep 100\n', { mode: 0o755 });
    const owner = { tag: 'killed', isTagAlive: (tag: string) => tag === 'me' };
    const env = { PATH: `${programs}:/usr/bin:/bin` };
    const probing = new Processes({ home: at.home, env, attributes, owner }).probe();
    const cleaning = new Processes({ home: at.home, env, attributes, owner: { ...owner, tag: 'me' } });
    let isOver = false;
    void probing.finally(() => {
      isOver = true;
    });
    await expect
      .poll(() => {
        cleaning.expire({ nowMs: Date.now(), dryRun: false });
        return isOver;
      })
      .toBe(true);
    expect(await probing).toMatchObject({ ok: false });
  },
);

it('a layer is removed with names that are not UTF-8', async () => {
  const layer = makeLayer(at.home, 'odd', []);
  writeFileSync(Buffer.concat([Buffer.from(`${layer.folder}/a`), Buffer.from([0xff])]), '');
  removeLayer(layer);
  expect(existsSync(layer.folder)).toBe(false);
  removeSpentLayers(at.home);
  // Wait, because `removeSpentLayers` leaves files whose names are not UTF-8 to a child process.
  await expect.poll(() => existsSync(layer.spent)).toBe(false);
});

it.skipIf(here === undefined)('the remains of layers are removed on closing', async () => {
  const processes = at.processes();
  const { layer } = await at.run('mkdir d; echo x > d/f; chmod 0 d', { processes });
  removeLayer(layer);
  expect(readdirSync(join(at.home, 'layers'))).toEqual([]);
  expect(existsSync(layer.spent)).toBe(true);
  processes.close();
  expect(existsSync(layer.spent)).toBe(false);
});

it('kept layers and outputs expire after 7 days, layers without an owner after one day', () => {
  const old = (days: number): Date => new Date(Date.now() - days * 24 * 60 * 60 * 1000);
  const place = (path: string, days: number): void => utimesSync(join(at.home, path), old(days), old(days));
  const processes = new Processes({ home: at.home, env: {}, attributes: undefined });
  for (const id of ['kept6', 'kept8', 'dead0', 'dead2']) {
    const layer = makeLayer(at.home, id, []);
    if (id.startsWith('kept')) keepLayer(layer, { session: 's', command: 'c' });
  }
  mkdirSync(join(at.home, 'outputs'));
  for (const name of ['new', 'new.json', 'old', 'old.json'])
    writeFileSync(join(at.home, 'outputs', name), '');
  for (const id of ['kept6', 'kept8', 'dead0', 'dead2']) place(`layers/${id}`, Number(id.slice(4)));
  for (const name of ['old', 'old.json']) place(`outputs/${name}`, 8);
  const nowMs = Date.now();
  expect(processes.expire({ nowMs, dryRun: true })).toEqual({ layers: 2, outputs: 1 });
  expect(readdirSync(join(at.home, 'layers'))).toHaveLength(4);
  expect(processes.expire({ nowMs, dryRun: false })).toEqual({ layers: 2, outputs: 1 });
  expect(readdirSync(join(at.home, 'layers')).sort()).toEqual(['dead0', 'kept6']);
  expect(readdirSync(join(at.home, 'spent-layers'))).toEqual([]);
  expect(readdirSync(join(at.home, 'outputs')).sort()).toEqual(['new', 'new.json']);
});

it('the layer of a running command does not expire', () => {
  const owner = { tag: 'me', isTagAlive: (tag: string) => tag === 'me' };
  const processes = new Processes({ home: at.home, env: {}, attributes: undefined, owner });
  const longAgo = new Date(Date.now() - 9 * 24 * 60 * 60 * 1000);
  for (const [id, tag] of [
    ['runs', 'me'],
    ['dead', 'other'],
    ['kept', 'me'],
  ] as const) {
    const layer = makeLayer(at.home, id, [], tag);
    if (id === 'kept') keepLayer(layer, { session: 's', command: 'c' });
    utimesSync(layer.folder, longAgo, longAgo);
  }
  expect(processes.expire({ nowMs: Date.now(), dryRun: false })).toMatchObject({ layers: 2 });
  expect(readdirSync(join(at.home, 'layers'))).toEqual(['runs']);
});
