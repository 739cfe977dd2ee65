import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  here,
  put,
  ran,
  refusedRun,
  root,
  session,
  text,
  useWorkspace,
} from '../support/command-workspace.ts';

useWorkspace();

const GIT = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main';
const OURS = '{"hooks":{"PreToolUse":[{"command":"lookfirst-hook"}]}}\n';

describe.skipIf(here === undefined)('a command on a layer', () => {
  it('may check out, merge and revert commits that touch the folders of clients', async () => {
    const files =
      '.vscode/tasks.json .vscode/settings.json .claude/commands/x.md .cursor/rules/a.mdc .mcp.json';
    await ran(`${GIT} init -q . && echo 1 > a && ${GIT} add a && ${GIT} commit -qm one`);
    await ran(
      `${GIT} checkout -qb feature && mkdir -p .vscode .claude/commands .cursor/rules && for f in ${files}; do echo '{}' > $f; done && echo '{"mcpServers":{"db":{"command":"db"}}}' > .mcp.json && ${GIT} add -A && ${GIT} commit -qm two`,
    );
    await ran(`${GIT} checkout -q main`);
    expect(existsSync(join(root, '.mcp.json'))).toBe(false);
    await ran(`${GIT} checkout -q feature`);
    expect(text('.mcp.json')).toContain('db');
    await ran(`${GIT} checkout -q main && ${GIT} merge -q --no-ff -m merge feature`);
    await ran(`${GIT} revert --no-edit -m 1 HEAD`);
    expect(existsSync(join(root, '.vscode/tasks.json'))).toBe(false);
  });

  it('may not check out a commit without our entries, or with a key that switches hooks off', async () => {
    put('.claude/settings.json', OURS);
    await ran(`${GIT} init -q . && ${GIT} add . && ${GIT} commit -qm one && ${GIT} tag ours`);
    const refused = { code: 'PROTECTED', path: '.claude/settings.json' };
    expect(await refusedRun(`${GIT} rm -q .claude/settings.json && ${GIT} commit -qm two`)).toMatchObject(
      refused,
    );
    expect(await refusedRun(`${GIT} checkout -q --orphan x && ${GIT} rm -qrf . && echo 1 > a`)).toMatchObject(
      refused,
    );
    put('.claude/settings.json', '{}\n');
    await session.forget();
    expect(await refusedRun(`${GIT} checkout -q -- .claude`)).toMatchObject(refused);
    expect(await refusedRun(`echo '{"disableAllHooks":true}' > .claude/settings.local.json`)).toMatchObject({
      code: 'PROTECTED',
      detail: { reason: expect.stringContaining('disableAllHooks switches hooks off') },
    });
  });

  it.each([
    [
      'a client settings file by a move',
      `echo '{"disableAllHooks":true}' > x && mkdir .claude && mv x .claude/settings.json`,
    ],
    [
      'a client folder by a link',
      `mkdir evil && echo '{"disableAllHooks":true}' > evil/settings.json && ln -s evil .claude`,
    ],
    [
      'a client settings file by a link',
      `mkdir .claude && echo '{"disableAllHooks":true}' > x && ln -s ../x .claude/settings.json`,
    ],
    ['Codex', `mkdir .codex && printf '[features]\\nhooks = false\\n' > .codex/config.toml`],
    ['Gemini CLI', `mkdir .gemini && echo '{"hooksConfig":{"enabled":false}}' > .gemini/settings.json`],
    [
      'Cursor',
      `mkdir .cursor && echo '{"version":1,"hooks":{"stop":[{"command":"x"}]}}' > .cursor/hooks.json`,
    ],
    ['VS Code', `mkdir .vscode && echo '{"chat.useHooks":false}' > .vscode/settings.json`],
    ['Zed', `mkdir .zed && echo '{"terminal":{"shell":{"program":"x"}}}' > .zed/settings.json`],
    ['opencode', `echo '{"plugin":["x"]}' > opencode.json`],
    ['a plugin of opencode', `mkdir -p .opencode/plugin && echo x > .opencode/plugin/a.ts`],
  ])('may not replace %s', async (_what, command) => {
    expect(await refusedRun(command)).toMatchObject({ code: 'PROTECTED' });
  });

  it('may change other keys beside our entries', async () => {
    put('.claude/settings.json', OURS);
    await ran(`sed -i 's/^{/{"model":"x",/' .claude/settings.json`);
    expect(text('.claude/settings.json')).toContain('"model":"x"');
    await ran(`mkdir .vscode && echo '{"tasks":[{"label":"build","command":"make"}]}' > .vscode/tasks.json`);
  });
});
