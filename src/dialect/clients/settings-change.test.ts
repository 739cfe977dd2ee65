import { describe, expect, it } from 'vitest';
import { forbiddenSettings, holdsOurEntries } from './settings-change.ts';
import { SETTINGS_FILES, settingsFileAt } from './settings-files.ts';

function judge(path: string, before: string | undefined, after: string | undefined): string | undefined {
  const file = settingsFileAt(path);
  if (file === undefined) return 'no settings file';
  const bytes = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text));
  return forbiddenSettings(file, { before: bytes(before), after: bytes(after) });
}

const HOOK = '{"matcher":"Edit|Write","hooks":[{"type":"command","command":"/state/bin/lookfirst-hook"}]}';
const CLAUDE = `{"model":"a","hooks":{"PreToolUse":[${HOOK}]}}`;
const SERVER =
  '{"mcpServers":{"lookfirst":{"command":"npx","args":["-y","lookfirst","serve","."]},"db":{"command":"db"}}}';
const CODEX =
  '[mcp_servers.lookfirst]\ncommand = "npx"\nargs = ["-y", "lookfirst", "serve", "."]\n\n[tui]\ntheme = "a"\n';
const GEMINI = `{"theme":"a","hooks":{"BeforeTool":[{"matcher":"write_file","hooks":[{"command":"lookfirst-hook"}]}]},"tools":{"exclude":["write_file"]}}`;
const CURSOR = '{"version":1,"hooks":{"preToolUse":[{"command":"lookfirst-hook cursor","matcher":"Write"}]}}';
const VSCODE = '{"hooks":{"PreToolUse":[{"type":"command","command":"lookfirst-hook vscode"}]}}';
const OPENCODE = '{"plugin":["file:///state/bin/lookfirst-opencode.js"],"permission":{"edit":"deny"}}';
const ZED = '{"theme":"a","context_servers":{"lookfirst":{"command":"npx","args":["lookfirst"]}}}';

describe('a change of our entries', () => {
  it.each<[string, string, string, string | undefined]>([
    ['removed', '.claude/settings.json', CLAUDE, '{"model":"a","hooks":{}}'],
    ['removed with the file', '.claude/settings.local.json', CLAUDE, undefined],
    ['given another matcher', '.claude/settings.json', CLAUDE, CLAUDE.replace('Edit|Write', 'Never')],
    [
      'given another program',
      '.claude/settings.json',
      CLAUDE,
      CLAUDE.replace('lookfirst-hook', 'x/lookfirst-hook'),
    ],
    ['hidden by a second key', '.claude/settings.json', CLAUDE, CLAUDE.replace('}]}}', '}]},"hooks":{}}')],
    ['made unreadable', '.claude/settings.json', CLAUDE, CLAUDE.slice(0, -1)],
    ['replaced by a list', '.claude/settings.json', CLAUDE, '[]'],
    ['added', '.claude/settings.json', '{}', CLAUDE],
    ['denied as a server', '.claude/settings.json', '{}', '{"permissions":{"deny":["mcp__lookfirst"]}}'],
    ['disabled as a server', '.claude/settings.json', '{}', '{"disabledMcpjsonServers":["lookfirst"]}'],
    ['removed', '.mcp.json', SERVER, '{"mcpServers":{"db":{"command":"db"}}}'],
    ['replaced', '.mcp.json', SERVER, SERVER.replace('"npx"', '"true"')],
    ['removed', '/home/u/.claude.json', SERVER, '{}'],
    ['removed', 'Claude/claude_desktop_config.json', SERVER, '{}'],
    ['removed', '.codex/config.toml', CODEX, '[tui]\ntheme = "a"\n'],
    ['disabled', '.codex/config.toml', CODEX, CODEX.replace('\n\n', '\nenabled = false\n\n')],
    ['made unreadable', '.codex/config.toml', CODEX, `${CODEX}[`],
    ['removed', '.codex/hooks.json', `{"hooks":{"PreToolUse":[${HOOK}]}}`, '{"hooks":{}}'],
    ['removed', '.gemini/settings.json', GEMINI, '{"theme":"a"}'],
    ['a denied tool allowed again', '.gemini/settings.json', GEMINI, GEMINI.replace('["write_file"]', '[]')],
    [
      'excluded as a server',
      '.gemini/settings.json',
      GEMINI,
      GEMINI.replace('"tools"', '"mcp":{"excluded":["lookfirst"]},"tools"'),
    ],
    ['removed', '.cursor/hooks.json', CURSOR, '{"version":1,"hooks":{}}'],
    ['removed', '.cursor/mcp.json', SERVER, '{"mcpServers":{}}'],
    ['removed', '.github/hooks/lookfirst.json', VSCODE, undefined],
    ['removed', '.vscode/mcp.json', '{"servers":{"lookfirst":{"command":"npx"}}}', '{"servers":{}}'],
    ['removed', 'opencode.json', OPENCODE, '{"permission":{"edit":"deny"}}'],
    ['a denied tool allowed again', 'opencode.jsonc', OPENCODE, OPENCODE.replace('"deny"', '"allow"')],
    ['removed', '.zed/settings.json', ZED, '{"theme":"a"}'],
    ['removed from a broken file', '.gemini/settings.json', `${GEMINI.replaceAll(',', ',\n')}}`, '{}'],
  ])('%s in %s is forbidden', (_what, path, before, after) => {
    expect(judge(path, before, after)).toMatch(/^it would change (our|lines)/);
  });
});

describe('a key that switches hooks off or starts a program', () => {
  it.each<[string, string, string]>([
    ['.claude/settings.json', '{"disableAllHooks":true}', 'disableAllHooks switches hooks off'],
    ['.claude/settings.local.json', '{"disableAllHooks":"true"}', 'disableAllHooks switches'],
    ['.claude/settings.json', '{"disable\\u0041llHooks":true}', 'disableAllHooks switches'],
    ['sub/.Claude/Settings.json', '// x\n{"disableAllHooks":true,}', 'disableAllHooks switches'],
    ['.claude/settings.json', '{"disableAllHooks":true,"disableAllHooks":false}', 'disableAllHooks switches'],
    ['.claude/settings.json', '{"disableAllHooks":true', 'disableAllHooks switches'],
    [
      '.claude/settings.json',
      '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
      'hooks.Stop starts',
    ],
    ['.claude/settings.json', '{"env":{"BASH_ENV":"/tmp/x"}}', 'env.BASH_ENV starts'],
    ['.claude/settings.json', '{"env":{"NODE_OPTIONS":"--require /tmp/x.js"}}', 'env.NODE_OPTIONS starts'],
    ['.claude/settings.json', '{"env":{"CLAUDE_CODE_SHELL_PREFIX":"/bin/x"}}', 'SHELL_PREFIX starts'],
    ['.claude/settings.json', '{"statusLine":{"type":"command","command":"x"}}', 'statusLine starts'],
    ['.claude/settings.json', '{"apiKeyHelper":"x"}', 'apiKeyHelper starts'],
    ['.claude/settings.json', '{"enableAllProjectMcpServers":true}', 'starts a program'],
    ['.claude/settings.json', '{"permissions":{"defaultMode":"bypassPermissions"}}', 'starts a program'],
    ['.claude/settings.json', '{"permissions":{"allow":["Bash(*)"]}}', 'starts a program'],
    ['/home/u/.claude.json', '{"mcpServers":{"x":{"command":"x"}}}', 'starts a program'],
    ['.codex/config.toml', '[features]\nhooks = false\n', 'features.hooks switches hooks off'],
    ['.codex/config.toml', 'features.codex_hooks = false\n', 'features.codex_hooks switches'],
    ['.codex/config.toml', '[hooks.state."x"]\nenabled = false\n', 'switches hooks off'],
    ['.codex/config.toml', '[mcp_servers.x]\ncommand = "x"\n', 'mcp_servers.x starts'],
    ['.codex/config.toml', 'notify = ["sh", "x"]\n', 'notify starts'],
    ['.codex/config.toml', '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "x"\n', 'hooks.Stop starts'],
    ['.codex/hooks.json', '{"hooks":{},"x":1}', 'x switches hooks off'],
    ['.gemini/settings.json', '{"hooksConfig":{"enabled":false}}', 'hooksConfig.enabled switches'],
    ['.gemini/settings.json', '{"hooksConfig":{"disabled":["a"]}}', 'hooksConfig.disabled switches'],
    ['.gemini/settings.json', '{"mcpServers":{"x":{"command":"x"}}}', 'mcpServers.x starts'],
    ['.gemini/settings.json', '{"tools":{"discoveryCommand":"x"}}', 'tools.discoveryCommand starts'],
    ['.cursor/hooks.json', '{"version":2}', 'version switches'],
    ['.cursor/hooks.json', '{"version":1,"hooks":{"stop":[{"command":"x"}]}}', 'hooks.stop starts'],
    ['.github/hooks/other.json', '{"hooks":{"Stop":[{"command":"x"}]}}', 'hooks.Stop starts'],
    ['.vscode/settings.json', '{"chat.useHooks":false}', 'chat.useHooks switches'],
    ['.vscode/settings.json', '{"chat":{"useHooks":false}}', 'chat.useHooks switches'],
    ['.vscode/settings.json', '{"chat.tools.autoApprove":true}', 'chat.tools.autoApprove starts'],
    ['.vscode/tasks.json', '{"tasks":[{"command":"x","runOptions":{"runOn":"folderOpen"}}]}', 'tasks starts'],
    ['.zed/settings.json', '{"context_servers":{"x":{"command":"x"}}}', 'context_servers.x starts'],
    ['.zed/tasks.json', '[{"command":"x","hooks":["create_worktree"]}]', 'starts a program'],
    ['opencode.json', '{"plugin":["x"]}', 'plugin starts'],
    ['opencode.json', '{"mcp":{"x":{"type":"local","command":["x"]}}}', 'mcp.x starts'],
    ['opencode.json', '{"formatter":{"x":{"command":["x"]}}}', 'formatter.x.command starts'],
    ['.opencode/plugin/x.ts', 'export const x = 1;', 'the client runs it'],
  ])('%s: %s is forbidden', (path, after, reason) => {
    expect(judge(path, undefined, after)).toContain(reason);
    // A value that is there already may stay.
    if (!after.includes(' x = 1')) expect(judge(path, after, `${after} `)).toBeUndefined();
  });

  it.each<[string, string | undefined, string | undefined]>([
    ['.claude/settings.json', CLAUDE, CLAUDE.replace('"a"', '"b"')],
    ['.claude/settings.json', CLAUDE, `// mine\n${CLAUDE.replace('{"model"', '{\n  "model"')}`],
    [
      '.claude/settings.json',
      CLAUDE,
      CLAUDE.replace('{"model"', '{"permissions":{"allow":["Bash(npm test)"]},"model"'),
    ],
    ['.claude/settings.json', '{"disableAllHooks":true}', '{"disableAllHooks":false}'],
    ['.claude/settings.json', '{"disableAllHooks":true}', '{}'],
    ['.claude/settings.json', '{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}', undefined],
    ['.claude/settings.json', undefined, '{"env":{"FOO":"1","NODE_OPTIONS":"--max-old-space-size=4096"}}'],
    [
      '.mcp.json',
      SERVER,
      SERVER.replace('"db":{"command":"db"}', '"db":{"command":"other"},"x":{"command":"x"}'),
    ],
    ['.codex/config.toml', CODEX, CODEX.replace('"a"', '"b"')],
    ['.codex/config.toml', undefined, 'model = "x"\n[mcp_servers.docs]\nurl = "https://x"\n'],
    ['.gemini/settings.json', GEMINI, GEMINI.replace('"theme":"a"', '"theme":"b"')],
    ['.gemini/settings.json', GEMINI, GEMINI.replace('["write_file"]', '["write_file","replace"]')],
    ['.gemini/settings.json', undefined, '{"mcpServers":{"x":{"httpUrl":"https://x"}}}'],
    ['.cursor/mcp.json', SERVER, SERVER.replace('"db":{"command":"db"}', '"x":{"command":"x"}')],
    ['.vscode/settings.json', undefined, '{"editor.tabSize":2,"[python]":{"editor.tabSize":4}}'],
    ['.vscode/tasks.json', undefined, '{"tasks":[{"label":"build","command":"make"}]}'],
    ['.vscode/mcp.json', undefined, '{"servers":{"x":{"command":"x"}}}'],
    ['.zed/settings.json', ZED, ZED.replace('"a"', '"b"')],
    ['opencode.json', OPENCODE, OPENCODE.replace('{"plugin"', '{"theme":"x","plugin"')],
    ['.opencode/plugin/x.ts', 'export const x = 1;', undefined],
  ])('%s: another change is allowed (%#)', (path, before, after) => {
    expect(judge(path, before, after)).toBeUndefined();
  });

  it.each([
    '.vscode/launch.json',
    '.claude/commands/x.md',
    '.cursor/rules/a.mdc',
    '.github/workflows/ci.yml',
    'tsconfig.json',
    'src/plugin/a.ts',
  ])('%s is no settings file', (path) => expect(settingsFileAt(path)).toBeUndefined());
});

it('our entries are found by their place, not by a mention of our name', () => {
  const file = settingsFileAt('.vscode/settings.json');
  const claude = settingsFileAt('.claude/settings.json');
  if (file === undefined || claude === undefined) throw new Error('no such file');
  expect(holdsOurEntries(file, Buffer.from('{"cSpell.words":["lookfirst"]}'))).toBe(false);
  expect(holdsOurEntries(claude, Buffer.from(CLAUDE))).toBe(true);
  expect(holdsOurEntries(claude, Buffer.from(`${CLAUDE}}`))).toBe(true);
  expect(SETTINGS_FILES.length).toBeGreaterThan(15);
});
