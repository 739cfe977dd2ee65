import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { inStateFolder, makeStateSubfolder } from '../../config/resident-place.ts';
import { unlessMissing } from '../../model/fault.ts';
import { quotedWord, shellPrefixScript, WITHOUT_CERTIFICATES } from '../shell-prefix.ts';
import type { HookFiles } from './hook-settings.ts';

/** The paths of the files that hooks run. */
export function hookFiles(home: string): HookFiles {
  const at = (name: string): string => join(home, 'bin', name);
  return {
    script: at('lookfirst-hook'),
    plugin: at('lookfirst-opencode.js'),
    shell: at('lookfirst-shell'),
  };
}

/**
 * Writes the scripts that hooks run, and the plugin for opencode, into the state folder. Replaces
 * each file in one step, because a hook may be running the old script. Throws a Fault on failure.
 */
export function writeHookFiles(places: Omit<ScriptPlaces, 'uid'>): void {
  const program = realpathSync(places.program);
  const files = hookFiles(places.home);
  makeStateSubfolder(dirname(files.script));
  const uid = process.getuid?.() ?? 0;
  const words = [quotedWord(places.node), programWord({ ...places, program })];
  // The plugin is built beside the program's folder.
  const plugin = join(dirname(program), '..', 'opencode.js');
  inStateFolder(places.home, () => {
    if (isCached(program))
      replace(cachedProgramFile(places.home), (path) => writeFileSync(path, `${program}\n`));
    replaceScript(files.script, hookScript({ ...places, program, uid }));
    replaceScript(files.shell, shellPrefixScript(words, places.home));
    replace(files.plugin, (path) => copyFileSync(plugin, path));
  });
}

/**
 * True if the hook script calls this program. For a program in npx's cache, checks the file from
 * which the script reads the program's path.
 */
export function isCurrent({ home, program }: Pick<ScriptPlaces, 'home' | 'program'>): boolean {
  const real = realpathSync(program);
  const file = isCached(real) ? cachedProgramFile(home) : hookFiles(home).script;
  return unlessMissing(() => readFileSync(file, 'utf8').includes(real)) ?? false;
}

/** True for a program in npx's cache. Users may delete that cache at any time. */
function isCached(program: string): boolean {
  return /[\\/]_npx[\\/]/.test(program);
}

/** The file with the path of a program in npx's cache. Scripts read it, so that they need not contain that path. */
function cachedProgramFile(home: string): string {
  return join(home, 'bin', 'npx-program');
}

/** The shell word for the program: its path, or a command that reads the path of a program in npx's cache. */
function programWord({ home, program }: Pick<ScriptPlaces, 'home' | 'program'>): string {
  return isCached(program)
    ? `"$(cat ${quotedWord(cachedProgramFile(home))} 2>/dev/null)"`
    : quotedWord(program);
}

function replaceScript(path: string, text: string): void {
  replace(path, (temporary) => {
    writeFileSync(temporary, text);
    chmodSync(temporary, 0o755);
  });
}

function replace(path: string, write: (temporary: string) => void): void {
  const temporary = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    write(temporary);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The paths and the user id that `hookScript` writes into the hook script. */
interface ScriptPlaces {
  readonly home: string;
  /** The Node executable. */
  readonly node: string;
  /** The program file of Lookfirst. */
  readonly program: string;
  readonly uid: number;
}

/** Shell lines of the hook script for the case that the program file no longer exists. */
const WITHOUT_PROGRAM = `elif [ -x "$node" ]; then
  reason="Lookfirst was uninstalled ($program is gone) but its hooks are still configured"`;

/** Shell lines of the hook script for a program that is no longer in npx's cache. npx installs it there again. */
const WITH_NPX = `elif [ -x "$node" ]; then
  printf '%s' "$input" | PATH="\${node%/*}:$PATH" npx --loglevel=error -y lookfirst hook "$client" "$@"
  code=$?
  case $code in 0 | 2) exit $code ;; esac
  reason="npx could not start Lookfirst (exit $code)"`;

/**
 * The text of `bin/lookfirst-hook` in the state folder. The script sends stdin to the resident
 * process with curl. Without a resident process or curl, it runs Node. If that fails too, it denies
 * a change or a command (exit 2); after other events the host continues.
 */
export function hookScript(places: ScriptPlaces): string {
  const { home, node, program, uid } = places;
  const afterProgram = isCached(program) ? WITH_NPX : WITHOUT_PROGRAM;
  return `#!/bin/sh
# Written by \`lookfirst init\`. Usage: lookfirst-hook CLIENT [--event NAME] [flags of lookfirst hook].
home=${quotedWord(home)}
node=${quotedWord(node)}
program=${programWord(places)}
uid=${uid}
client=$1 event= failure=deny fast=yes asked=
shift
for word in "$@"; do
  case $word in
    --event | --event=*) ;;
    --fail-open) failure=pass ;;
    -*) fast= ;;
    *) [ -z "$event" ] && event=$word || fast= ;;
  esac
done
case $event in '' | PreToolUse | BeforeTool | preToolUse | tool.execute.before | before) ;; *) failure=ignore ;; esac
input=$(cat)
[ -z "$LOOKFIRST_STORE$LOOKFIRST_SESSION$LOOKFIRST_WORKSPACE$LOOKFIRST_SHARED_WORKSPACE" ] || fast=
[ -z "$LOOKFIRST_GUARANTEE" ] || fast=
[ -z "$LOOKFIRST_HOME" ] || [ "$LOOKFIRST_HOME" = "$home" ] || fast=
case $client in
  claude-code) project=$CLAUDE_PROJECT_DIR ;;
  gemini) project=$GEMINI_PROJECT_DIR ;;
  cursor) project=$CURSOR_PROJECT_DIR ;;
  # A denial of this client has an exit code, which only Node passes on from the resident process.
  generic) project= fast= ;;
  *) project= ;;
esac
case $PWD$CLAUDE_CODE_SHELL_PREFIX$project in *[![:print:]]*) fast= ;; esac
for curl in /usr/bin/curl /bin/curl /usr/local/bin/curl /opt/homebrew/bin/curl ''; do [ -x "$curl" ] && break; done
if [ -n "$fast" ] && [ -n "$curl" ] && [ -O "$home/run" ]; then
  host=
  [ -r /proc/sys/kernel/hostname ] && read -r host < /proc/sys/kernel/hostname
  [ -n "$host" ] || host=$(hostname)
  if answer=$(cd "$home/run" && printf '%s' "$input" | "$curl" -q -sf --noproxy '*' --max-time 6 \\
    --unix-socket "hook-$host-$uid.sock" -H 'Expect:' -H 'Content-Type: application/json' \\
    -H "X-Lookfirst-Program: $program" -H "X-Lookfirst-Event: $event" -H "X-Lookfirst-Failure: $failure" -H "X-Lookfirst-Cwd: $PWD" \\
    -H "X-Lookfirst-Shell: $CLAUDE_CODE_SHELL_PREFIX" \\
    -H "X-Lookfirst-Project: $project" \\
    --data-binary @- "http://lookfirst/$client" 2>/dev/null); then
    [ -z "$answer" ] || printf '%s\\n' "$answer"
    exit 0
  fi
  asked=yes
fi
# Programs that a desktop starts lack the variables of the user's shell.
export LOOKFIRST_HOME="\${LOOKFIRST_HOME:-$home}"
if [ -x "$node" ] && [ -f "$program" ]; then
${WITHOUT_CERTIFICATES}
  # Node 22 and later keep compiled code there; older ones ignore the variable.
  printf '%s' "$input" | LOOKFIRST_RESIDENT_ASKED=$asked NODE_COMPILE_CACHE="$home/compiled" "$node" "$program" hook "$client" "$@"
  code=$?
  case $code in 0 | 2) exit $code ;; esac
  reason="Lookfirst did not answer (exit $code)"
${afterProgram}
else
  reason="Lookfirst cannot run: $node is gone"
fi
[ "$failure" = deny ] || { echo "$reason; the call passes unchecked." >&2; exit 0; }
echo "$reason, so this call is refused. Ask the user to run \\\`lookfirst init $client --hooks\\\` or \\\`lookfirst remove $client\\\`; without Lookfirst: delete the entries of the client's settings whose command contains lookfirst-hook." >&2
exit 2
`;
}
