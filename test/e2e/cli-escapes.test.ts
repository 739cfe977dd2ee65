import { describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { desk, ok } from '../support/desk.ts';

/** ESC, the one-character CSI, a right-to-left override and a line separator: none may reach a terminal raw. */
const STEERING = '\u001b\u009b\u202e\u2028';
const RAW = /[\u001b\u0080-\u009f\u202a-\u202e\u2028\u2029]/;

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
