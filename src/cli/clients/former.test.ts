import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../../test/support/tree.ts';
import { CLIENTS } from './clients.ts';
import { type ConfigureRequest, configureClient } from './configure.ts';
import { FormerFiles } from './former.ts';

interface Bench {
  readonly file: string;
  readonly home: string;
  run(action: 'init' | 'remove', more?: Partial<ConfigureRequest>): void;
}

/** A project file of Claude Code, with formatting that removing our entries alone would not restore. */
function bench(text: string | undefined): Bench {
  const { root, home } = scratch();
  const file = join(root, '.mcp.json');
  mkdirSync(dirname(file), { recursive: true });
  if (text !== undefined) writeFileSync(file, text);
  const places = { platform: process.platform, env: {}, home: root, project: root };
  const base = {
    client: CLIENTS['claude-code'],
    places,
    dir: root,
    scope: 'project',
    dryRun: false,
  } as const;
  return {
    file,
    home,
    run: (action, more = {}) => {
      const reports = configureClient({ ...base, action, former: new FormerFiles(home), ...more });
      expect(reports.every((report) => report.ok)).toBe(true);
    },
  };
}

const ODD = '{ "mcpServers" : { } ,\n\n\t"other":1 }   ';

describe('the former content of a configuration', () => {
  it('is restored byte for byte after several inits, if the file was not changed since', () => {
    const { file, home, run } = bench(ODD);
    run('init');
    run('init', { dir: '/elsewhere' });
    expect(readFileSync(file, 'utf8')).not.toBe(ODD);
    const [kept = ''] = readdirSync(join(home, 'clients'));
    expect(statSync(join(home, 'clients', kept)).mode & 0o777).toBe(0o600);
    run('remove');
    expect(readFileSync(file, 'utf8')).toBe(ODD);
    expect(readdirSync(join(home, 'clients'))).toEqual([]);
  });

  it('is empty if there was no file', () => {
    const { file, run } = bench(undefined);
    run('init');
    run('remove');
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });

  it('is not restored over a later edit: only our entry is removed', () => {
    const { file, run } = bench(ODD);
    run('init');
    const edited = readFileSync(file, 'utf8').replace('"other":1', '"other":2');
    writeFileSync(file, edited);
    run('remove');
    const left = readFileSync(file, 'utf8');
    expect(left).toContain('"other":2');
    expect(left).not.toContain('lookfirst');
  });

  it('includes the folders that init created: they are removed if they are empty', () => {
    const { root, home } = scratch();
    const folder = join(root, '.cursor');
    const places = { platform: process.platform, env: {}, home: join(root, 'user'), project: root };
    const run = (action: 'init' | 'remove', scope: 'project' | 'user') =>
      configureClient({
        ...{ action, client: CLIENTS.cursor, places, dir: root, scope, dryRun: false },
        former: new FormerFiles(home),
      });
    run('init', 'user');
    run('init', 'project');
    writeFileSync(join(folder, 'own.txt'), 'x');
    run('remove', 'user');
    expect(existsSync(join(root, 'user'))).toBe(false);
    run('remove', 'project');
    expect(readdirSync(folder)).toEqual(['own.txt']);
  });

  it('does not include a folder that existed before init', () => {
    const { root, home } = scratch();
    mkdirSync(join(root, '.cursor'));
    const places = { platform: process.platform, env: {}, home: root, project: root };
    for (const action of ['init', 'remove'] as const)
      configureClient({
        ...{ action, client: CLIENTS.cursor, places, dir: root, scope: 'project', dryRun: false },
        former: new FormerFiles(home),
      });
    expect(readdirSync(join(root, '.cursor'))).toEqual([]);
  });

  it('is not kept by a dry run', () => {
    const { home, run } = bench(ODD);
    run('init', { dryRun: true });
    expect(() => readdirSync(join(home, 'clients'))).toThrow('ENOENT');
  });
});
