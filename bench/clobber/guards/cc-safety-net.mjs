import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

// npm install --prefix FOLDER cc-safety-net, then set CC_SAFETY_NET=FOLDER.
const program = join(
  process.env.CC_SAFETY_NET ?? '.',
  'node_modules/cc-safety-net/dist/bin/cc-safety-net.js',
);

/** The guard of that name on npm, a hook of Claude Code that reads the command's text. */
export const guard = {
  name: 'cc-safety-net',
  rank: 2.5,
  missing: () => (existsSync(program) ? undefined : 'not installed; see bench/clobber/README.md'),
  open: ({ root, env }) => ({
    async run({ session, command, sh }) {
      const call = { tool_name: 'Bash', tool_input: { command }, session_id: session, cwd: root };
      const input = JSON.stringify({ hook_event_name: 'PreToolUse', ...call });
      const run = [program, 'hook', '--claude-code'];
      const answer = execFileSync(process.execPath, run, { cwd: root, env, input, encoding: 'utf8' });
      if (/"permissionDecision":\s*"(deny|ask)"/.test(answer)) return { refused: true, text: answer };
      await sh(command);
      return { refused: false };
    },
  }),
};
