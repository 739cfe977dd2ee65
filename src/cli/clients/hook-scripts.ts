import { join } from 'node:path';
import { quotedWord } from '../../report/bounded.ts';

/** The paths and the user id that scripts in the state folder contain. */
export interface ScriptPlaces {
  readonly home: string;
  /** The Node executable. */
  readonly node: string;
  /** The program file of Lookfirst. */
  readonly program: string;
  readonly uid: number;
}

/** True for a program in npx's cache. Users may delete that cache at any time. */
export function isCached(program: string): boolean {
  return /[\\/]_npx[\\/]/.test(program);
}

/** The file with the path of a program in npx's cache. Scripts read it, so that they need not contain that path. */
export function cachedProgramFile(home: string): string {
  return join(home, 'bin', 'npx-program');
}

/** The shell word for the program: its path, or a command that reads the path of a program in npx's cache. */
function programWord({ home, program }: Pick<ScriptPlaces, 'home' | 'program'>): string {
  return isCached(program)
    ? `"$(cat ${quotedWord(cachedProgramFile(home))} 2>/dev/null)"`
    : quotedWord(program);
}

/** Shell lines that set the places of a script. */
function placeLines(places: ScriptPlaces): string {
  const { home, node, uid } = places;
  return `home=${quotedWord(home)}
node=${quotedWord(node)}
program=${programWord(places)}
uid=${uid}`;
}

/**
 * Shell lines that hide `NODE_EXTRA_CA_CERTS` from Node, because reading the certificates takes
 * longer than the rest of its start. The lines do nothing for a Postgres store, which needs the
 * certificates for TLS. `bin.ts` restores the variable for child processes.
 */
const WITHOUT_CERTIFICATES = `  case "$NODE_EXTRA_CA_CERTS:$LOOKFIRST_STORE $*" in
    :* | *:postgres* | *--store*) ;;
    *) export LOOKFIRST_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS"; unset NODE_EXTRA_CA_CERTS ;;
  esac`;

/**
 * Shell lines that find curl and the socket of the resident process. A script may call the resident
 * process only if `fast` is still `yes` after them: no variable asks for other settings than those
 * with which the resident process runs.
 */
const FIND_RESIDENT = `[ -z "$LOOKFIRST_STORE$LOOKFIRST_SESSION$LOOKFIRST_WORKSPACE$LOOKFIRST_SHARED_WORKSPACE" ] || fast=
[ -z "$LOOKFIRST_GUARANTEE" ] || fast=
[ -z "$LOOKFIRST_HOME" ] || [ "$LOOKFIRST_HOME" = "$home" ] || fast=
for curl in /usr/bin/curl /bin/curl /usr/local/bin/curl /opt/homebrew/bin/curl ''; do [ -x "$curl" ] && break; done
[ -n "$curl" ] && [ -O "$home/run" ] || fast=
host=
[ -r /proc/sys/kernel/hostname ] && read -r host < /proc/sys/kernel/hostname
[ -n "$host" ] || host=$(hostname)
socket="hook-$host-$uid.sock"`;

/** The call of curl that sends stdin to the resident process. More options and the address follow. */
const CALL_RESIDENT = `"$curl" -q -sf --noproxy '*' -H 'Expect:' -H 'Content-Type: application/json' --data-binary @- -H "X-Lookfirst-Program: $program"`;

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
  const afterProgram = isCached(places.program) ? WITH_NPX : WITHOUT_PROGRAM;
  return `#!/bin/sh
# Written by \`lookfirst init\`. Usage: lookfirst-hook CLIENT [--event NAME] [flags of lookfirst hook].
${placeLines(places)}
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
case $client in
  claude-code) project=$CLAUDE_PROJECT_DIR ;;
  gemini) project=$GEMINI_PROJECT_DIR ;;
  cursor) project=$CURSOR_PROJECT_DIR ;;
  # A denial of this client has an exit code, which only Node passes on from the resident process.
  generic) project= fast= ;;
  *) project= ;;
esac
case $PWD$CLAUDE_CODE_SHELL_PREFIX$project in *[![:print:]]*) fast= ;; esac
${FIND_RESIDENT}
if [ -n "$fast" ]; then
  if answer=$(cd "$home/run" && printf '%s' "$input" | ${CALL_RESIDENT} --max-time 6 --unix-socket "$socket" \\
    -H "X-Lookfirst-Event: $event" -H "X-Lookfirst-Failure: $failure" -H "X-Lookfirst-Cwd: $PWD" \\
    -H "X-Lookfirst-Shell: $CLAUDE_CODE_SHELL_PREFIX" \\
    -H "X-Lookfirst-Project: $project" \\
    "http://lookfirst/$client" 2>/dev/null); then
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

/**
 * The script for `CLAUDE_CODE_SHELL_PREFIX`. Claude Code starts it with a whole shell line as its
 * argument. Lines of the Bash tool contain `pwd -P`; they run on a layer, a copy-on-write view of
 * the workspace. Other lines run unchanged.
 *
 * The resident process makes the layer and answers with shell text that starts the sandbox, so the
 * command keeps this script's terminal, environment and signals. When the command has ended, the
 * script calls the resident process again, which commits the writes. Without a resident process,
 * `lookfirst run --prefix` does all of this. Only variables that start with `lookfirst_` are set
 * outside subshells, because a variable of the user's environment would change for the command.
 */
export function shellScript(places: ScriptPlaces): string {
  const [home, node, program] = [quotedWord(places.home), quotedWord(places.node), programWord(places)];
  return `#!/bin/sh
# Written by Lookfirst. Runs the lines of Claude Code's Bash tool on a layer, so that their changes can be undone.
case \${1-} in
  *'pwd -P >| '*) ;;
  *) exec "\${SHELL:-/bin/sh}" -c "\${1-}" ;;
esac
lookfirst_line=$1 lookfirst_socket= lookfirst_layer=
# Usage: lookfirst_call ADDRESS [options of curl]. Sends stdin to the resident process.
lookfirst_call() {
${placeLines(places)}
fast=yes cwd=$PWD address=$1
shift
case $PWD$CLAUDE_CODE_SESSION_ID$LC_ALL in *[![:print:]]*) fast= ;; esac
${FIND_RESIDENT}
[ -n "$fast" ] && cd "$home/run" && ${CALL_RESIDENT} --unix-socket "\${lookfirst_socket:-$socket}" \\
  -H "X-Lookfirst-Cwd: $cwd" -H "X-Lookfirst-Session: $CLAUDE_CODE_SESSION_ID" -H "X-Lookfirst-Locale: $LC_ALL" \\
  "$@" "http://lookfirst/$address" 2>/dev/null
}
# Usage: lookfirst_ended SHELL CODE. The resident process commits the command's writes, and answers how to end.
lookfirst_ended() {
  lookfirst_text=$(lookfirst_call shell-end -H "X-Lookfirst-Id: $1" -H "X-Lookfirst-Code: $2" </dev/null) && eval "$lookfirst_text"
  mv "$lookfirst_layer/layer.new" "$lookfirst_layer/layer.json" 2>/dev/null
  echo "lookfirst: the background process of Lookfirst ended while this command ran, so its changes were not recorded." >&2
  [ -e "$lookfirst_layer/layer.json" ] || exit "$2"
  echo "Nothing was changed. The user can commit what it wrote with lookfirst run --apply \${lookfirst_layer##*/}" >&2
  exit 1
}
lookfirst_text=$(printf '%s' "$lookfirst_line" | lookfirst_call shell --max-time 30 -H "X-Lookfirst-Pid: $$") && eval "$lookfirst_text"
if [ -e ${node} ] && [ -e ${program} ]; then
${WITHOUT_CERTIFICATES}
  if [ -z "$LOOKFIRST_HOME" ] && [ "\${XDG_STATE_HOME:-$HOME/.local/state}/lookfirst" != ${home} ]; then
    export LOOKFIRST_HOME=${home}
  fi
  exec ${node} ${program} run --prefix "$1"
fi
echo 'lookfirst: not found any more; this command runs without undo. Remove CLAUDE_CODE_SHELL_PREFIX from the settings.' >&2
exec "\${SHELL:-/bin/sh}" -c "$1"
`;
}
