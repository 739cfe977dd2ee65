import { certainCommands } from '../dialect/calls/shell/commands.ts';
import type { ForeignIntent } from '../model/intent.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Scene } from './scene.ts';

/** Commands of Lookfirst that only the user may run, as the words behind its name. */
const OPERATOR_COMMANDS: readonly (readonly string[])[] = [
  ['allow'],
  ['init'],
  ['remove'],
  ['sessions', 'forget'],
  ['gc', '--purge'],
];

/** Why a shell command must not be run: it would switch the gate off. A hurdle, not a wall: see LIMITS.md. */
export function operatorRefusal(command: string): Refusal | undefined {
  for (const { words } of certainCommands(command) ?? []) {
    const name = words.findIndex((word) => /(^|\/)lookfirst(\.js|@[\w.-]+)?$/.test(word ?? ''));
    if (name === -1) continue;
    const rest = words.slice(name + 1);
    const found = OPERATOR_COMMANDS.find((operator) => operator.every((word) => rest.includes(word)));
    if (found === undefined) continue;
    const detail = { reason: 'only the user may run it' };
    return {
      code: 'PROTECTED',
      action: 'run',
      path: `lookfirst ${found.join(' ')}`,
      next: 'ask_human',
      detail,
    };
  }
  return undefined;
}

/** Files in which clients keep our hooks and our server. */
const CLIENT_FILES =
  /(^|\/)(\.claude\/settings(\.local)?\.json|\.codex\/(hooks\.json|config\.toml)|\.gemini\/settings\.json|\.cursor\/(hooks|mcp)\.json|\.github\/hooks\/lookfirst\.json|\.vscode\/mcp\.json|\.mcp\.json|opencode\.jsonc?)$/;

/** Why a tool must not change a file: it holds our entries, and without them the gate is off. */
export async function configurationRefusal(
  { session }: Scene,
  intents: readonly ForeignIntent[],
): Promise<Refusal | undefined> {
  for (const intent of intents) {
    const paths = intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
    for (const path of paths.filter((each) => CLIENT_FILES.test(each))) {
      const found = await session.search('lookfirst', { path, mode: 'files' });
      if (!found.ok || found.hits.length === 0) continue;
      const detail = { reason: "the client's configuration of Lookfirst is in it" };
      return { code: 'PROTECTED', action: 'edit', path, next: 'ask_human', detail };
    }
  }
  return undefined;
}
