import { resolve } from 'node:path';
import type { ShellLine } from '../dialect/calls/shell/shell-line.ts';
import type { ForeignIntent } from '../model/intent.ts';
import { CLIENT_FILES } from '../model/path.ts';
import type { Refusal } from '../model/verdict.ts';
import { type Scene, shellPathOf } from './scene.ts';

/** Commands of Lookfirst that only the user may run, as the words after the program's name. */
const OPERATOR_COMMANDS: readonly (readonly string[])[] = [
  ['allow'],
  ['init'],
  ['remove'],
  ['sessions', 'forget'],
  ['gc', '--purge'],
  ['gc', '--older-than'],
  ['gc', '--quota'],
  ['run', '--apply'],
];

/** Commands of Lookfirst that an agent may run for its own session only. */
const OWN_SESSION_COMMANDS = new Set<string | undefined>(['undo', 'rewind']);
/**
 * Matches variables by which `undo` and `rewind` recognise an agent and its session, and `env`
 * calls that empty the environment.
 */
const IDENTITY =
  /\b(?:LOOKFIRST_(?:SESSION|OPERATOR)|CLAUDECODE|CLAUDE_CODE_SESSION_ID|CODEX_(?:SANDBOX|THREAD_ID)|CURSOR_AGENT|GEMINI_CLI|OPENCODE)\b|\benv\s+(?:-i\b|--ignore-environment\b|-\s)/;

/**
 * The reason to deny a shell command that runs one of `OPERATOR_COMMANDS`, or that runs `undo` or
 * `rewind` and also matches `IDENTITY`. Undefined for any other command. This check can be evaded:
 * see LIMITS.md.
 */
export function operatorRefusal(line: ShellLine): Refusal | undefined {
  for (const rest of ownCalls(line)) {
    const found = OPERATOR_COMMANDS.find((operator) =>
      operator.every((word) => rest.some((each) => each?.split('=', 1)[0] === word)),
    );
    if (found !== undefined) return forTheUser(found.join(' '), 'only the user may run it');
    const own = rest.find((word) => OWN_SESSION_COMMANDS.has(word));
    if (own !== undefined && IDENTITY.test(line.text))
      return forTheUser(own, 'an agent may run it only for its own session');
  }
  return undefined;
}

/**
 * Returns the words after the program's name, for each call of Lookfirst in a line. Calls inside
 * the command of `lookfirst run -- COMMAND` are listed too.
 */
function ownCalls({ commands }: ShellLine): readonly (readonly (string | undefined)[])[] {
  return commands.flatMap(({ words }) => {
    const calls: (readonly (string | undefined)[])[] = [];
    for (let name = nameIn(words, 0); name !== -1; ) {
      const end = words[name + 1] === 'run' ? words.indexOf('--', name) : -1;
      calls.push(words.slice(name + 1, end === -1 ? undefined : end));
      name = end === -1 ? -1 : nameIn(words, end);
    }
    return calls;
  });
}

function nameIn(words: readonly (string | undefined)[], from: number): number {
  return words.findIndex(
    (word, index) => index >= from && /(^|\/)lookfirst(\.js|@[\w.-]+)?$/.test(word ?? ''),
  );
}

function forTheUser(command: string, reason: string): Refusal {
  return {
    code: 'PROTECTED',
    action: 'run',
    path: `lookfirst ${command}`,
    next: 'ask_human',
    detail: { reason },
  };
}

/**
 * Matches the names of Lookfirst's own files: the default state folder, the scripts, the database
 * and its key.
 */
const OWN_FILES = /\.local\/state\/lookfirst|lookfirst-(?:hook|shell|opencode)\b|lookfirst\.(?:db|key)\b/;
const ENDS_PROCESSES = /\b(?:kill|pkill|killall)\b.*(?:lookfirst|--resident)/;

/**
 * The reason to deny a shell command that ends our process, switches off the client's hooks, or may
 * change our own files, the policy file or our entries in a client's configuration. Undefined for
 * any other command. This check can be evaded: see LIMITS.md.
 */
export async function tamperRefusal(scene: Scene, line: ShellLine): Promise<Refusal | undefined> {
  const part = line.changingPart();
  const { text } = part;
  // A line that names Lookfirst together with `kill` does not run.
  if (ENDS_PROCESSES.test(text)) return tampering('the process of Lookfirst', 'end');
  // A line that contains `disableAllHooks` runs only if it just reads.
  if (text.includes('disableAllHooks')) return tampering('the hooks of the client', 'switch off');
  // A line that names the state folder or one of our files runs only if it just reads.
  if (names(text, scene.home) || OWN_FILES.test(text)) return tampering('the state of Lookfirst');
  // The same holds for the policy file.
  const { policyFile } = scene;
  if (policyFile !== undefined && names(text, policyFile)) return tampering(policyFile);
  // The same holds for a client's file with our entries, and for a folder with such a file.
  for (const name of part.names())
    if (await holdsOurEntries(scene, shellPathOf(scene, name))) return tampering(name);
  return undefined;
}

/** True if a command contains this absolute path, and not only a longer name or path that contains it. */
function names(command: string, path: string): boolean {
  for (let at = command.indexOf(path); at !== -1; at = command.indexOf(path, at + 1)) {
    const before = command.slice(Math.max(0, at - 3), at);
    // A letter before the path belongs to a longer path, unless it is an option as in `-C/state`.
    const isBegun = /[\w.~}-]$/.test(before) && !/(?:^|\s)-\w$/.test(before);
    if (!isBegun && !/^[\w.-]/.test(command.slice(at + path.length))) return true;
  }
  return false;
}

/**
 * True for a client's configuration file that contains our entries, and for a client's folder with
 * such a file.
 */
async function holdsOurEntries({ session }: Scene, path: string): Promise<boolean> {
  if (!CLIENT_FILES.test(path) && !CLIENT_FOLDERS.test(path)) return false;
  const found = await session.search('lookfirst', { path, mode: 'files' });
  if (found.ok) return found.hits.length > 0;
  const files = CLIENT_FILES.test(path) ? [path] : CONFIGURATIONS.map((name) => `${path}/${name}`);
  for (const file of files) if ((await session.guardAt(file)) !== undefined) return true;
  return false;
}

function tampering(path: string, does: 'change' | 'end' | 'switch off' = 'change'): Refusal {
  const detail = { reason: `it may ${does} ${path}, which only the user may do` };
  return { code: 'PROTECTED', action: 'run', path, next: 'ask_human', detail };
}

const CLIENT_FOLDERS = /(^|\/)\.(claude|codex|gemini|cursor|vscode)\/?$/;
/** Names of the files in a folder of `CLIENT_FOLDERS` in which `init` may have written our entries. */
const CONFIGURATIONS = ['settings.json', 'settings.local.json', 'hooks.json', 'config.toml', 'mcp.json'];

/**
 * The refusal of a change to a file that only the user may change: a file of Lookfirst, a client's
 * file with our entries, or a file that decides which programs run. Undefined if no intent changes
 * such a file.
 */
export async function guardRefusal(
  { session, cwd, policyFile }: Scene,
  intents: readonly ForeignIntent[],
): Promise<Refusal | undefined> {
  for (const intent of intents) {
    const paths = intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
    for (const path of paths) {
      const isPolicy = policyFile !== undefined && resolve(cwd, path) === policyFile;
      const reason = isPolicy
        ? `${path}, because it is the policy of Lookfirst`
        : await session.guardAt(path);
      if (reason !== undefined)
        return { code: 'PROTECTED', action: 'edit', path, next: 'ask_human', detail: { reason } };
    }
  }
  return undefined;
}
