import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { Sessions } from '../session/sessions.ts';
import { runServe, type Servers } from './serve-command.ts';

/** The stderr of a server that ends at once. */
async function said(isTTY: boolean): Promise<string> {
  const { root, home } = scratch();
  const stderr = new PassThrough();
  const fake = {
    stdin: Object.assign(new PassThrough(), { isTTY }),
    stdout: new PassThrough(),
    stderr,
    env: { LOOKFIRST_HOME: home },
    platform: process.platform,
    argv: process.argv,
    execPath: process.execPath,
    cwd: () => root,
  };
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  const servers: Servers = {
    serveStdio: async (plan) => plan.opened(sessions),
    serveHttp: async () => expect.unreachable(),
  };
  // The cast is safe: the fake has the parts of a process that a server uses.
  const ended = await runServe({
    args: [],
    process: fake as never,
    homeFolder: home,
    servers: async () => servers,
    viewer: () => expect.fail('no viewer over stdio'),
    help: () => expect.fail('no help'),
  });
  expect(ended).toBe(0);
  return String(stderr.read() ?? '');
}

describe('a server that a user has started in a terminal', () => {
  it('says that it waits for a client, and how to get help', async () => {
    expect(await said(true)).toMatch(
      /^lookfirst: serving .*\nlookfirst: .*waiting for an MCP client.*lookfirst --help/,
    );
  });

  it('prints nothing else if a client has started it', async () => {
    expect(await said(false)).toMatch(/^lookfirst: serving .*\n$/);
  });
});
