import { mkdirSync, readdirSync, readFileSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkClients } from '../../src/cli/doctor/clients.ts';
import type { DoctorCheck } from '../../src/cli/doctor/state.ts';
import { Stage } from '../../src/cli/stage.ts';
import { loadSqlite } from '../../src/store/sqlite/driver.ts';
import { environment, lookfirst, objects, PROGRAM } from '../support/command-line.ts';
import { desk, ok } from '../support/desk.ts';
import { OFFICIAL } from '../support/official-server.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/** The checks of clients alone: the others of `doctor` take longer. */
async function clientChecks(places: Scratch): Promise<DoctorCheck[]> {
  const around = { platform: process.platform, env: environment(places), cwd: places.root };
  const stage = new Stage();
  const checks: DoctorCheck[] = [];
  try {
    for await (const check of checkClients({ ...around, homeFolder: places.base }, stage)) checks.push(check);
  } finally {
    stage.close();
  }
  return checks;
}

describe('lookfirst demo', () => {
  it('demonstrates five promises, all kept, and leaves no files behind', async () => {
    const places = scratch();
    const temporary = join(places.base, 'tmp');
    mkdirSync(temporary);
    const ran = await lookfirst(places, ['demo'], { env: { TMPDIR: temporary } });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout.match(/^\d\. .*:/gm)).toEqual([
      '1. A blind write:',
      '2. A user edits the same file:',
      '3. Two agents at once:',
      '4. Containment:',
      '5. Undo:',
    ]);
    expect(ran.stdout.match(/^ {3}promise held$/gm)).toHaveLength(5);
    expect(ran.stdout).toContain('5 of 5 promises held.');
    for (const code of ['NOT_READ', 'STALE', 'OUTSIDE_WORKSPACE']) expect(ran.stdout).toContain(`[${code}]`);
    expect(readdirSync(temporary)).toEqual([]);
    expect(readdirSync(places.home)).toEqual([]);
  });
});

describe('lookfirst doctor', () => {
  it('proves a refused write and finds a healthy machine', async () => {
    const places = scratch();
    const ran = await lookfirst(places, ['doctor', '--json']);
    const checks = objects(ran);
    expect(ran.code).toBe(0);
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'node',
        'state folder',
        'policy',
        'store',
        'containment',
        'clock',
        'locks',
        'ripgrep',
      ]),
    );
    expect(checks).toContainEqual({
      name: 'refused write',
      status: 'ok',
      message: 'a blind write was refused with NOT_READ, and the file is unchanged',
    });
    expect(checks.at(-1)).toMatchObject({ name: 'clients', status: 'warn' });
    expect(readdirSync(places.root)).toEqual([]);
  });

  it('reports for every configured client what is not enforced', async () => {
    const places = scratch();
    const entry = { command: process.execPath, args: [OFFICIAL, '.'] };
    writeFileSync(join(places.root, '.mcp.json'), JSON.stringify({ mcpServers: { filesystem: entry } }));
    expect((await lookfirst(places, ['init', 'claude-code', '--proxy', 'filesystem'])).code).toBe(0);
    expect((await lookfirst(places, ['init', 'claude-desktop'])).code).toBe(0);
    const lines = (await lookfirst(places, ['doctor'])).stdout
      .split('\n')
      .filter((line) => /claude/.test(line));
    expect(lines.map((line) => line.slice(0, 23).trim())).toEqual([
      'ok    claude-code',
      'warn  claude-code',
      'warn  claude-code',
      'ok    claude-desktop',
    ]);
    expect(lines[1]).toContain('its own Edit, Write and Bash bypass Lookfirst');
    expect(lines[2]).toContain('a change by another program in that moment is not noticed');
  });

  it('fails if a client is configured to serve a missing folder', async () => {
    const places = scratch();
    const gone = join(places.base, 'moved');
    mkdirSync(gone);
    for (const client of ['claude-desktop', 'codex', 'opencode'])
      expect((await lookfirst(places, ['init', client, '--root', gone])).code).toBe(0);
    expect((await clientChecks(places)).filter(({ status }) => status === 'fail')).toEqual([]);
    rmdirSync(gone);
    const ran = await lookfirst(places, ['doctor', '--json']);
    expect(ran.code).toBe(1);
    expect(objects(ran).filter(({ status }) => status === 'fail')).toEqual(
      ['claude-desktop', 'codex', 'opencode'].map((name) => ({
        name,
        status: 'fail',
        message: expect.stringMatching(`cannot start from .*: there is no folder ${gone}$`),
      })),
    );
  });

  it('starts each configured command, and fails if one cannot start', async () => {
    const places = scratch();
    await lookfirst(places, ['init', 'cursor']);
    const file = join(places.root, '.cursor', 'mcp.json');
    const found = async () => (await clientChecks(places)).find(({ name }) => name === 'cursor');
    expect(await found()).toMatchObject({
      status: 'ok',
      message: `Lookfirst is in ${file}, and its command refused a blind write`,
    });
    const [, program = ''] = PROGRAM;
    writeFileSync(file, readFileSync(file, 'utf8').replace(program, '/gone/lookfirst.js'));
    expect(await found()).toMatchObject({
      status: 'fail',
      message: expect.stringMatching(/it cannot start/),
    });
    expect(readdirSync(places.root)).toEqual(['.cursor']);
  });

  it('reports a server that waits for approval, and folders that are not trusted', async () => {
    const places = scratch();
    for (const args of [['claude-code'], ['codex', '--scope', 'local'], ['gemini']])
      expect((await lookfirst(places, ['init', ...args])).code).toBe(0);
    const doubts = async () =>
      (await clientChecks(places))
        .map(({ name, message }) => `${name}: ${message}`)
        .filter((line) => /approval|does not trust/.test(line));
    expect(await doubts()).toEqual([
      expect.stringMatching(/^claude-code: the server waits for approval/),
      expect.stringMatching(/^codex: Codex does not trust this folder/),
      expect.stringMatching(/^gemini: Gemini CLI does not trust this folder/),
    ]);
    const answers = (answer: object) =>
      writeFileSync(
        join(places.base, '.claude.json'),
        JSON.stringify({ projects: { [places.root]: { enabledMcpjsonServers: ['lookfirst'], ...answer } } }),
      );
    // Approve the server, but do not trust the folder. Claude Code 2.1.325 then ignores the
    // approval.
    answers({});
    expect(await doubts()).toContainEqual(
      expect.stringMatching(/^claude-code: Claude Code does not trust this folder/),
    );
    answers({ hasTrustDialogAccepted: true });
    mkdirSync(join(places.base, '.codex'));
    const trust = `[projects.${JSON.stringify(places.root)}]\ntrust_level = "trusted"\n`;
    writeFileSync(join(places.base, '.codex', 'config.toml'), trust);
    mkdirSync(join(places.base, '.gemini'));
    const folders = { [places.root]: 'TRUST_FOLDER' };
    writeFileSync(join(places.base, '.gemini', 'trustedFolders.json'), JSON.stringify(folders));
    expect(await doubts()).toEqual([]);
  });

  it('reports a state folder that differs from the server’s; init writes it for Codex', async () => {
    const places = scratch();
    const file = join(places.base, '.codex', 'config.toml');
    const differs = async () =>
      (await clientChecks(places)).filter(({ message }) =>
        message.includes(`this command line in ${places.home}`),
      );
    expect((await lookfirst(places, ['init', 'codex'])).code).toBe(0);
    const written = readFileSync(file, 'utf8');
    expect(written).toContain('"serve", "."');
    expect(written).toContain(`env = { LOOKFIRST_HOME = "${places.home}" }`);
    expect(await differs()).toEqual([]);
    writeFileSync(file, written.replace(/^env = .*\n/m, ''));
    expect(await differs()).toMatchObject([{ name: 'codex', status: 'warn' }]);
    expect((await lookfirst(places, ['init', 'codex'])).code).toBe(0);
    expect(await differs()).toEqual([]);
  });

  it('names a store that differs from the server’s without its password', async () => {
    const places = scratch();
    expect((await lookfirst(places, ['init', 'codex'])).code).toBe(0);
    const env = { LOOKFIRST_STORE: 'postgres://ann:zebra:lion@127.0.0.1:1/db' };
    const { stdout } = await lookfirst(places, ['doctor'], { env });
    expect(stdout).toContain('this command line in postgres://ann@127.0.0.1:1/db: log,');
    expect(stdout).not.toMatch(/zebra|lion/);
  });

  it('shows the rules of the policy by which changes need no read', async () => {
    const places = scratch();
    const bypass = ['*.log', { paths: ['out/**'], sessions: ['ci'] }];
    writeFileSync(join(places.home, 'lookfirst.json'), JSON.stringify({ bypass }));
    const checks = objects(await lookfirst(places, ['doctor', '--json']));
    expect(checks.find(({ name }) => name === 'policy')).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('no read: *.log, {"paths":["out/**"],"sessions":["ci"]}'),
    });
  });

  it('continues with other checks if a settings file cannot be read', async () => {
    const places = scratch();
    mkdirSync(join(places.root, '.claude'));
    symlinkSync('settings.local.json', join(places.root, '.claude/settings.local.json'));
    const ran = await lookfirst(places, ['doctor', '--json']);
    const checks = objects(ran);
    expect(checks).toContainEqual({
      name: 'claude-code hooks',
      status: 'warn',
      message: expect.stringMatching(
        /^cannot read .*settings\.local\.json \(ELOOP: its links lead back to themselves\)$/,
      ),
    });
    expect(checks.at(-1)).toMatchObject({ name: 'clients' });
  });

  it('continues with other checks if the state folder is unusable', async () => {
    const ran = await lookfirst(scratch(), ['doctor', '--json'], { env: { LOOKFIRST_HOME: 'state' } });
    expect(ran).toMatchObject({ code: 1, stderr: '' });
    const checks = objects(ran);
    expect(checks.find(({ status }) => status === 'fail')).toMatchObject({
      name: 'state folder',
      message: 'LOOKFIRST_HOME must be an absolute path, not "state"',
    });
    expect(checks).toContainEqual(expect.objectContaining({ name: 'refused write', status: 'ok' }));
  });

  it('fails if the journal was altered or the policy is invalid', async () => {
    const work = await desk({ session: 'agent-7' });
    await ok(work.session.write('a.txt', 'one\n'));
    const db = (await loadSqlite())(join(work.home, 'lookfirst.db'));
    db.exec("update entries set session = 'x' where seq = 2");
    db.close();
    writeFileSync(join(work.home, 'lookfirst.json'), '{"preset":"lax"}');
    const ran = await lookfirst(work, ['doctor', '--json']);
    expect(ran.code).toBe(1);
    expect(objects(ran).filter(({ status }) => status === 'fail')).toMatchObject([
      { name: 'policy', message: expect.stringContaining('"preset" must be one of') },
      { name: 'store', message: 'journal entry 2 was altered' },
    ]);
  });
});

it('doctor denies the blind write of every hooked client, also after the shell of another', async () => {
  const places = scratch();
  const clients = ['claude-code', 'codex', 'opencode'];
  for (const client of clients) expect((await lookfirst(places, ['init', client, '--hooks'])).code).toBe(0);
  const checks = objects(await lookfirst(places, ['doctor', '--json']));
  expect(checks.filter(({ name }) => String(name).endsWith(' hooks'))).toMatchObject(
    clients.map((client) => ({ name: `${client} hooks`, status: 'ok' })),
  );
});
