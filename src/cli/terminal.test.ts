import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { Terminal } from './terminal.ts';

it('prints a long answer without a pager on Windows, unless the user names one', async () => {
  const shown = async (env: Record<string, string>): Promise<string> => {
    const stdout = Object.assign(new PassThrough(), { isTTY: true, rows: 5, columns: 80 });
    const terminal = new Terminal({ stdin: new PassThrough(), stdout, stderr: new PassThrough() }, {});
    terminal.page(env, 'win32');
    await terminal.print('line\n'.repeat(20));
    await terminal.flushed();
    return String(stdout.read() ?? '');
  };
  expect(await shown({})).toBe(`${'line\n'.repeat(20)}\n`);
  expect(await shown({ PAGER: 'true' })).toBe('');
});
