import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findRipgrep } from '../../disk/ripgrep-binary.ts';
import { canRunCommands } from '../../session/command-places.ts';
import type { StateFlags } from '../../session/configured.ts';
import type { Cli } from '../cli.ts';
import { ServerProcess } from '../server-process.ts';
import type { Stage } from '../stage.ts';
import { type Check, fail, ok, reasonOf, warn } from './check.ts';

const run = promisify(execFile);

/** ripgrep is there and runs. */
export async function checkRipgrep(cli: Cli): Promise<Check> {
  try {
    const { stdout } = await run(await findRipgrep({}, [cli.cwd]), ['--version'], { timeout: 10_000 });
    return ok('ripgrep', stdout.split('\n')[0] ?? '');
  } catch (error) {
    return fail('ripgrep', reasonOf(error));
  }
}

/** Commands can be run in a sandbox. Without one everything else works. */
export async function checkCommands(cli: Cli, flags: StateFlags, stage: Stage): Promise<Check> {
  try {
    const { ok: works, message } = await canRunCommands(cli, flags, stage.state);
    return works ? ok('commands', message) : warn('commands', message);
  } catch (error) {
    return warn('commands', reasonOf(error));
  }
}

const PRECIOUS = 'nobody has read this\n';

/** Starts the server that clients start, and tries a blind write on a real file: the one proof that counts. */
export async function checkRefusedWrite(cli: Cli, stage: Stage): Promise<Check> {
  const name = 'refused write';
  const env = { ...process.env, LOOKFIRST_HOME: stage.state, LOOKFIRST_STORE: '', LOOKFIRST_SESSION: '' };
  stage.put('precious.txt', PRECIOUS);
  try {
    const server = await ServerProcess.start([...cli.self, 'serve', stage.workspace], env);
    try {
      const answer = await server.call('write_file', { path: 'precious.txt', content: 'overwritten\n' });
      if (stage.text('precious.txt') !== PRECIOUS)
        return fail(name, 'a file that was never read was overwritten');
      if (answer.ok || answer.code !== 'NOT_READ')
        return fail(name, `a blind write was answered with ${answer.code ?? 'success'} instead of NOT_READ`);
      return ok(name, 'a blind write was refused with NOT_READ, and the file is as it was');
    } finally {
      await server.stop();
    }
  } catch (error) {
    return fail(name, reasonOf(error));
  }
}
