import { resolve } from 'node:path';
import type { ShellLine } from '../dialect/calls/shell/shell-line.ts';
import { programOf } from '../dialect/calls/shell/words.ts';
import { settingsFileAt } from '../dialect/clients/settings-files.ts';
import type { LayerExpectation } from '../model/entry.ts';
import type { HostIntent } from '../model/intent.ts';
import type { Refusal } from '../model/verdict.ts';
import { runsProgram } from '../text/git-config.ts';
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
  // An agent could report events that never happened, such as reads.
  ['hook'],
];

/** Matches programs that run a command or code given as an argument. Some give it a terminal of its own. */
const RUNS_WORDS =
  /^(?:script|expect|unbuffer|tmux|screen|python[\d.]*|node|nodejs|deno|bun|perl|ruby|php|osascript)$/;
const OPERATOR_TEXT =
  /\blookfirst(?:\.js|@[\w.-]+)?['"]?[\s,'"[]+(allow|init|remove|hook|sessions|gc|undo|rewind)\b/;
/** Matches a substitution that prints the path of our program. */
const FINDS_US = /\b(?:which|command\s+-v|type\s+-[pP])\s+(?:[\w./-]*\/)?lookfirst\b/;

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
  const hidden = hiddenCall(line);
  return hidden === undefined ? undefined : forTheUser(hidden, 'only the user may run it');
}

/** Finds a command reserved for the user inside code that the line runs, or in the arguments of `xargs`. */
function hiddenCall({ commands }: ShellLine): string | undefined {
  for (const { words } of commands) {
    const program = programOf(words[0]);
    const texts = RUNS_WORDS.test(program) ? words.slice(1) : [];
    const found = texts.map((word) => OPERATOR_TEXT.exec(word ?? '')?.[1]).find((verb) => verb !== undefined);
    if (found !== undefined) return found;
    if (program === 'xargs' && nameIn(words, 1) === words.length - 1) return 'with words from xargs';
  }
  return undefined;
}

/**
 * Returns the words after the program's name, for each call of Lookfirst in a line. Calls inside
 * the command of `lookfirst run -- COMMAND` are listed too.
 */
function ownCalls({ commands, text }: ShellLine): readonly (readonly (string | undefined)[])[] {
  const isFound = FINDS_US.test(text);
  return commands.flatMap(({ words: shown }) => {
    const words = isFound && shown[0] === undefined ? ['lookfirst', ...shown.slice(1)] : shown;
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
    detail: { cause: 'own-command', reason },
  };
}

/**
 * Matches the names of Lookfirst's own files: the default state folder, the variable that names
 * another one, the scripts, the database and its key.
 */
const OWN_FILES =
  /\.local\/state\/lookfirst|\$\{?LOOKFIRST_HOME\b|lookfirst-(?:hook|shell|opencode)\b|lookfirst\.(?:db|key)\b/;
const ENDS_PROCESSES = /\b(?:kill|pkill|killall)\b.*(?:lookfirst|--resident)/;

/**
 * The reason to deny a shell command that ends our process, switches off the client's hooks, or may
 * change our own files, the policy file or our entries in a client's configuration. Undefined for
 * any other command. This check can be evaded: see LIMITS.md.
 */
export async function tamperRefusal(
  scene: Scene,
  line: ShellLine,
  layer: LayerExpectation,
): Promise<Refusal | undefined> {
  const part = line.changingPart();
  const { paths: judged, rest: text } = shownSettings(part);
  // A line that names Lookfirst together with `kill` does not run.
  if (ENDS_PROCESSES.test(text)) return tampering('the process of Lookfirst', 'end');
  // A line that contains `disableAllHooks` runs only if it just reads.
  if (text.includes('disableAllHooks')) return tampering('the hooks of the client', 'switch off');
  // A line that names the state folder or one of our files runs only if it just reads.
  if (names(text, scene.home) || OWN_FILES.test(text)) return tampering('the state of Lookfirst');
  // This also holds for the policy file.
  const { policyFile } = scene;
  if (policyFile !== undefined && names(text, policyFile)) return tampering(policyFile);
  // A line that sets a program in git's configuration does not run.
  for (const { words } of part.commands) {
    const key = programSetByGit(words);
    if (key !== undefined) return tampering(`the git setting ${key}`);
  }
  const link = part.commands.flatMap(({ words }) => settingsLinkedBy(words))[0];
  if (link !== undefined) return tampering(link);
  return settingsRefusal(scene, part, { shown: { paths: judged, rest: text }, layer });
}

/** The reason to deny a line because of a client's settings that it names; undefined if there is none. */
async function settingsRefusal(
  scene: Scene,
  part: ShellLine,
  { shown, layer }: { readonly shown: ShownSettings; readonly layer: LayerExpectation },
): Promise<Refusal | undefined> {
  for (const name of part.names()) {
    if (shown.paths.has(name)) continue;
    const path = shellPathOf(scene, name);
    // On a layer, what the line makes of a file in the workspace is judged before it is committed.
    const isOnLayer = layer === 'expected' && (await scene.session.resolve(path)).ok;
    // A line that names a client's file with our entries, or its folder, runs only if it just reads.
    if (!isOnLayer && (await scene.session.forHost().holdsOurs(path))) return tampering(name);
    // This also holds for a line that names a client's settings and a key that switches hooks off.
    if (switchIn(shown.rest, path) !== undefined) return tampering('the hooks of the client', 'switch off');
  }
  return undefined;
}

/** The settings files among the arguments of `ln`. Nothing checks the content that a link puts there. */
function settingsLinkedBy(words: ShellLine['commands'][number]['words']): readonly string[] {
  if (!/(^|\/)ln$/.test(words[0] ?? '')) return [];
  return words.slice(1).flatMap((word) => (word && settingsFileAt(word) !== undefined ? [word] : []));
}

/** Options of `git config` that take the next word as their value. */
const WITH_VALUE = new Set([
  '-f',
  '--file',
  '--blob',
  '--type',
  '--default',
  '--comment',
  '--value',
  '--url',
]);
/** Words and options with which `git config` only reads. */
const READS_CONFIG = /^(?:--?(?:get.*|list|l|show-.*|name-only)|get|list)$/;

/** The setting that a call of git sets or removes, if its value is a program; undefined otherwise. */
function programSetByGit(words: ShellLine['commands'][number]['words']): string | undefined {
  const at = words.indexOf('config');
  if (!/(^|\/)git$/.test(words[0] ?? '') || at < 0) return undefined;
  const args = words.slice(at + 1).map((word) => word ?? '');
  if (args.some((word) => READS_CONFIG.test(word))) return undefined;
  const plain = args.filter((word, index) => !word.startsWith('-') && !WITH_VALUE.has(args[index - 1] ?? ''));
  const [first = '', ...others] = plain;
  const isVerb = ['set', 'unset', 'rename-section', 'remove-section', 'edit'].includes(first);
  const key = isVerb ? others[0] : first;
  // Without a value, a key alone is read.
  const removes = args.some((word) => word.startsWith('--unset'));
  const isRead = !isVerb && !removes && others.length === 0;
  return key === undefined || isRead || !runsProgram(key) ? undefined : key;
}

/** The settings files whose new text a line shows, and the line without these texts. */
interface ShownSettings {
  readonly paths: ReadonlySet<string>;
  readonly rest: string;
}

/**
 * The settings files that are judged by the new text that the line shows. Leaves out files that
 * another part of the line may name, also by a glob or a variable.
 */
function shownSettings(line: ShellLine): ShownSettings {
  const paths = new Set<string>();
  let rest = line.text;
  for (const write of line.writes()) {
    if (!write.certain || (write.how !== 'overwrite' && write.how !== 'append')) continue;
    if (write.content === undefined || settingsFileAt(write.path) === undefined) continue;
    const without = rest.replace(write.content.trimEnd(), '');
    const name = write.path.split('/').at(-1) ?? '';
    if (without.split(name).length !== 2 || /[*?$[{`]/.test(without)) continue;
    paths.add(write.path);
    rest = without;
  }
  return { paths, rest };
}

/** The key that switches hooks off in the settings file at `path`, if the text contains all its parts. */
function switchIn(text: string, path: string): string | undefined {
  return settingsFileAt(path)?.off.find(({ key }) =>
    key.split('.').every((part) => part === '*' || text.includes(part)),
  )?.key;
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

function tampering(path: string, does: 'change' | 'end' | 'switch off' = 'change'): Refusal {
  const reason = `it may ${does} ${path}, which only the user may do`;
  return {
    code: 'PROTECTED',
    action: 'run',
    path,
    next: 'ask_human',
    detail: { cause: 'tampering', reason },
  };
}

/**
 * The refusal of a change outside the workspace that only the user may make: of the policy, of a file
 * of Lookfirst, or of a client's settings. Undefined if there is none. The gate judges changes inside
 * the workspace.
 */
export async function guardRefusal(
  { session, cwd, policyFile }: Scene,
  intents: readonly HostIntent[],
): Promise<Refusal | undefined> {
  for (const intent of intents) {
    const paths = intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
    const isPolicy = paths.some((path) => policyFile !== undefined && resolve(cwd, path) === policyFile);
    const path = paths[0] ?? '';
    const reason = isPolicy
      ? `${path}, because it is the policy of Lookfirst`
      : await session.forHost().guardOutside(intent);
    if (reason !== undefined)
      return { code: 'PROTECTED', action: 'edit', path, next: 'ask_human', detail: { reason } };
  }
  return undefined;
}
