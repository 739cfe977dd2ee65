import { RawClient } from '../../raw-client.mjs';
import { environment, PROGRAM, undoing, withoutSandbox } from '../lookfirst.mjs';

/** The tools of Lookfirst's MCP server, with `run_command` in place of a shell. */
export const guard = {
  name: 'Lookfirst: run_command over MCP',
  rank: 9,
  missing: withoutSandbox,
  async open(world) {
    const client = new RawClient([...PROGRAM, 'serve', '--allow-commands', world.root], environment(world));
    await client.open();
    const call = async (session, name, args) => {
      const _meta = { 'dev.lookfirst/session': session };
      const line = await client.request('tools/call', { name, arguments: args, _meta });
      const { result } = JSON.parse(line.toString());
      return { isError: result.isError === true, text: result.content.map(({ text }) => text).join('\n') };
    };
    let undo;
    return {
      read: ({ session, path }) => call(session, 'read_file', { path }),
      async write({ session, path, text }) {
        await call(session, 'read_file', { path });
        const answer = await call(session, 'write_file', { path, content: text });
        if (answer.isError) throw new Error(answer.text);
      },
      async run({ session, command }) {
        undo ??= await undoing(world);
        const { isError, text } = await call(session, 'run_command', { command });
        return { refused: isError && /\[[A-Z_]+\]/.test(text), text };
      },
      recover: () => undo(),
      pids: () => [client.pid],
      close: () => client.close(),
    };
  },
};
