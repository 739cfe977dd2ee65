/**
 * The script for `CLAUDE_CODE_SHELL_PREFIX`. Claude Code starts it with one argument, the whole line. A line of its Bash tool
 * ends in noting the working folder; that one runs on a layer. Everything else (MCP servers, hooks) runs as it is.
 * `self` is how this program is started: an executable and its first arguments, all absolute.
 */
export function shellPrefixScript(self: readonly string[]): string {
  const program = self.map(quoted).join(' ');
  const checks = self.map((path) => `[ -e ${quoted(path)} ]`).join(' && ');
  return `#!/bin/sh
# Written by Lookfirst. Runs the lines of Claude Code's Bash tool on a layer, so that undo takes them back.
case \${1-} in
  *'pwd -P >| '*) ;;
  *) exec "\${SHELL:-/bin/sh}" -c "\${1-}" ;;
esac
if ${checks}; then
  exec ${program} run --prefix "$1"
fi
echo 'lookfirst: not found any more; this command runs without undo. Remove CLAUDE_CODE_SHELL_PREFIX from the settings.' >&2
exec "\${SHELL:-/bin/sh}" -c "$1"
`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\\\''")}'`;
}
