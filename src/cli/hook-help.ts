/** The text of `lookfirst hook --help`. The hook process itself loads no help. */
export const HOOK_HELP: string = `Usage: lookfirst hook CLIENT [options] < EVENT

Answers one hook call: reads the event of an agent program as JSON from stdin and prints the answer that program obeys.
CLIENT is one of claude-code, codex, gemini, cursor, vscode, opencode, generic. \`lookfirst init CLIENT --hooks\` configures it.

Options:
  --event <name>    the event that the client's configuration calls this for
  --root <dir>      the workspace (repeatable); default: the client's project folder
  --session <id>    use this session instead of the client's
  --policy <file>   policy file (default: lookfirst.json in the state folder)
  --preset <name>   start from this preset
  --store <url>     where the state is (LOOKFIRST_STORE)
  --fail-open       let calls pass when Lookfirst itself fails; the default denies changes and commands
  --help            this text`;
