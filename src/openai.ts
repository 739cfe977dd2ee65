import {
  type CommandJudge,
  guardedSandbox,
  guardedShell,
  type HostCommand,
  type OpenAiSandbox,
  type OpenAiShell,
  sandboxEditor,
} from './adapters/openai.ts';
import type { HookEvent } from './hooks/event.ts';
import { hooksInProcess } from './hooks/respond.ts';
import { gatedSession, type SessionSource } from './tools/toolset.ts';

export type {
  OpenAiExec,
  OpenAiExecResult,
  OpenAiSandbox,
  OpenAiShell,
  OpenAiShellAction,
  OpenAiShellResult,
} from './adapters/openai.ts';
export {
  lookfirstEditor,
  type OpenAiEditor,
  type OpenAiModelData,
  type OpenAiPatched,
  seenFrom,
} from './adapters/openai.ts';
export { lookfirstTools, type OpenAiOutput, type OpenAiTool } from './adapters/openai-tools.ts';

/**
 * A `Shell` for `shellTool` that judges each command before `shell` runs it. File lines in the
 * command's output count as read, and its changes can be undone. `shell` must start commands in the
 * session's first root.
 */
export function lookfirstShell(session: SessionSource, shell: OpenAiShell): OpenAiShell {
  return guardedShell(shell, judgeOf(session));
}

/**
 * A sandbox session with the gate in front of its editor and its commands. The sandbox's workspace
 * must be the session's only root, a folder on this machine. Inside the sandbox, this folder may
 * have another path.
 */
export function guardSandbox<Sandbox extends OpenAiSandbox>(
  sandbox: Sandbox,
  session: SessionSource,
): Sandbox {
  const root = sandbox.state.manifest.root;
  const virtualRoot = root === gatedSession(session).roots[0] ? undefined : root;
  const editor = sandboxEditor(session, { virtualRoot });
  const judge = judgeOf(session);
  const judgeHere: CommandJudge = {
    before: (command) => judge.before(located(command, virtualRoot)),
    after: (command, output) => judge.after(located(command, virtualRoot), output),
  };
  return guardedSandbox(sandbox, editor, judgeHere);
}

/**
 * Makes the command's folder relative to the workspace, if the folder is inside it. `root`: the
 * path of the workspace inside the sandbox.
 */
function located(command: HostCommand, root: string | undefined): HostCommand {
  const { folder } = command;
  if (root === undefined || folder === undefined) return command;
  const inside = folder === root || folder.startsWith(`${root}/`);
  return inside ? { ...command, folder: folder.slice(root.length).replace(/^\/+/, '') || '.' } : command;
}

/** The gate treats the SDK's shell and its patch tool like those of Codex. */
const HOST = 'codex';

function judgeOf(session: SessionSource): CommandJudge {
  const eventOf = ({ call, command, folder }: HostCommand) => ({
    session: gatedSession(session).id,
    tool: 'shell',
    input: { command },
    call,
    ...(folder === undefined ? {} : { cwd: folder }),
  });
  const respond = hooksInProcess(HOST);
  const reply = (event: HookEvent) => respond(gatedSession(session), event);
  return {
    async before(command) {
      const answer = await reply({ ...eventOf(command), kind: 'before' });
      return answer.verdict === 'deny' ? answer.reason : undefined;
    },
    async after(command, output) {
      const answer = await reply({ ...eventOf(command), kind: 'after', response: output });
      return answer.verdict === 'pass' ? answer.context : undefined;
    },
  };
}
