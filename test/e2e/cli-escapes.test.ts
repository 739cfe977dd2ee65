import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { desk, ok } from '../support/desk.ts';

/** ESC, the one-character CSI, a right-to-left override and a line separator: none may reach a terminal raw. */
const STEERING = '\u001b\u009b\u202e\u2028';
const RAW = /[\u001b\u0080-\u009f\u202a-\u202e\u2028\u2029]/;

it('a file name with a line break is quoted in the same way by every command', async () => {
  const t = await desk({ session: 'agent-7' });
  await t.session.beginTurn({ turn: 'p1' });
  await ok(t.session.write('nl\nx.txt', 'one\n'));
  await ok(t.session.move('nl\nx.txt', 'nl\ny.txt'));
  await lookfirst(t, ['allow', 'nl\ny.txt']);
  for (const args of [
    ['log'],
    ['rewind'],
    ['undo', '--dry-run'],
    ['status'],
    ['status', '--session', 'agent-7'],
    ['claims'],
    ['allow', '--list'],
  ]) {
    const { stdout } = await lookfirst(t, args);
    expect(stdout, args.join(' ')).toMatch(/"(b\/)?nl\\n[xy]\.txt"/);
    expect(stdout, args.join(' ')).not.toMatch(/nl [xy]\.txt|nl\n[xy]|nl\\u000a/);
  }
});

describe('characters that steer a terminal', () => {
  it('are escaped in all JSON output, which parses back to the same characters', async () => {
    const name = `a${STEERING}b.txt`;
    const t = await desk({ session: 'agent-7' });
    await ok(t.session.write(name, `one ${STEERING}\n`));
    await t.session.close();
    for (const args of [['log'], ['status', name], ['diff'], ['undo', '--dry-run'], ['status']]) {
      const ran = await lookfirst(t, [...args, '--json']);
      expect(ran.stdout, args.join(' ')).not.toMatch(RAW);
      expect(ran.code).toBe(0);
    }
    const paths = objects(await lookfirst(t, ['log', '--json', '--kind', 'change'])).map(({ path }) => path);
    expect(paths).toEqual([name]);
  });

  it('are escaped in the name of a client, for people', async () => {
    const t = await desk({ session: 'agent-7', client: `editor${STEERING}` });
    await ok(t.session.write('a.txt', 'one\n'));
    await t.session.close();
    for (const args of [['status'], ['status', 'a.txt'], ['log'], ['sessions'], ['blame', 'a.txt']]) {
      const { code, stdout } = await lookfirst(t, args);
      expect([code, stdout], args.join(' ')).toEqual([0, expect.stringContaining('editor')]);
      expect(stdout, args.join(' ')).not.toMatch(RAW);
    }
  });

  it('are escaped in words from the configuration of a project', async () => {
    const t = await desk();
    const server = { command: `no-such-${STEERING}`, args: ['lookfirst'] };
    await t.put('.mcp.json', JSON.stringify({ mcpServers: { lookfirst: server, [STEERING]: server } }));
    const doctor = await lookfirst(t, ['doctor']);
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining('no-such-') });
    expect(doctor.stdout).not.toMatch(RAW);
    const init = await lookfirst(t, ['init', 'claude-code', '--proxy', 'other']);
    expect(init).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no server') });
    expect(init.stderr).not.toMatch(RAW);
  });

  it('are escaped in the name of a transcript', async () => {
    const t = await desk();
    const folder = join(t.base, 'user/.codex/sessions');
    mkdirSync(folder, { recursive: true });
    const call = { type: 'function_call', name: 'exec_command', call_id: 'c1' };
    const records = [
      { type: 'session_meta', payload: { cwd: t.root } },
      { type: 'response_item', payload: { ...call, arguments: JSON.stringify({ cmd: 'echo x > a.txt' }) } },
    ];
    const text = records.map((record) => JSON.stringify(record)).join('\n');
    writeFileSync(join(folder, 'rollout-\u001b\u009b\u202e.jsonl'), text);
    const ran = await lookfirst(t, ['audit', '--json'], { env: { HOME: join(t.base, 'user') } });
    expect(objects(ran)).toHaveLength(2);
    expect(ran.stdout).not.toMatch(RAW);
  });

  it.each([
    [`lo${STEERING}g`],
    ['log', `--${STEERING}`],
    ['config', 'get', STEERING],
    ['status', '--policy', `/no/${STEERING}`],
    ['allow', STEERING, '--revoke'],
    ['rewind', STEERING],
  ])('are escaped in the error of %j %j', async (...args) => {
    const ran = await lookfirst(await desk(), args);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).not.toMatch(RAW);
  });
});
