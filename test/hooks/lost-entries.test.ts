import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lookfirst } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { scratch } from '../support/tree.ts';

it('a session is told at its next event that a checkout removed our hooks, and so are status and doctor', async () => {
  const places = scratch();
  const agent = new Hooked(places);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=e@x', ...args], { cwd: places.root });
  git('init', '-q');
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
  git('add', '-A');
  git('commit', '-qm', 'one');
  await lookfirst(places, ['init', 'gemini', '--hooks']);
  const settings = join(places.root, '.gemini/settings.json');
  const ours = readFileSync(settings, 'utf8');
  expect((await agent.prompt('go', { turn: 't1' })).context ?? '').not.toContain('are gone');
  expect((await agent.shell('ls')).context ?? '').not.toContain('are gone');

  git('checkout', '-q', '-b', 'other');
  writeFileSync(settings, '{}\n');
  const told = `the entries of Lookfirst in ${settings} are gone`;
  expect((await agent.shell('ls')).context).toContain(told);
  expect((await agent.shell('ls')).context ?? '').not.toContain(told);
  expect((await agent.prompt('go on', { turn: 't2' })).context).toContain(told);
  const log = await lookfirst(places, ['log', '--kind', 'notice']);
  expect(log.stdout).toContain('are gone');
  expect((await lookfirst(places, ['status'])).stderr).toContain(told);
  const doctor = await lookfirst(places, ['doctor']);
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringMatching(/fail +gemini .*are gone/)]);

  writeFileSync(settings, ours);
  expect((await agent.prompt('now', { turn: 't3' })).context ?? '').not.toContain(told);
  expect((await lookfirst(places, ['status'])).stderr).not.toContain(told);
  await lookfirst(places, ['remove', 'gemini']);
  expect((await agent.prompt('end', { turn: 't4' })).context ?? '').not.toContain(told);
});

it('hooks that are gone are reported even if the file still has our server', async () => {
  const places = scratch();
  await lookfirst(places, ['init', 'gemini', '--hooks']);
  const settings = join(places.root, '.gemini/settings.json');
  const { mcpServers } = JSON.parse(readFileSync(settings, 'utf8')) as { mcpServers: object };
  const told = `the entries of Lookfirst in ${settings} are gone`;
  expect((await lookfirst(places, ['status'])).stderr).not.toContain(told);
  writeFileSync(settings, JSON.stringify({ mcpServers }));
  expect((await lookfirst(places, ['status'])).stderr).toContain(told);
});
