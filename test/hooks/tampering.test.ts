import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { Hooked, openDoor } from '../support/hooked.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
let agent: Hooked;
const SETTINGS = '.claude/settings.local.json';
const OURS = '{"hooks": {"PreToolUse": [{"command": "lookfirst-hook"}]}}\n';

beforeEach(() => {
  places = scratch();
  agent = new Hooked(places);
  mkdirSync(join(places.root, '.claude'));
  writeFileSync(join(places.root, SETTINGS), OURS);
});

/** The test replaces HOME in these commands by the state folder. */
const COMMANDS = [
  `echo {} > ${SETTINGS}`,
  `sed -i s/lookfirst// ${SETTINGS}`,
  `python3 -c "open('${SETTINGS}','w').write('{}')"`,
  `rm ${SETTINGS}`,
  'rm -rf .claude',
  `mv ${SETTINGS} /tmp/away.json`,
  `jq 'del(.hooks)' ${SETTINGS} | tee ${SETTINGS}`,
  `cp /dev/null ${SETTINGS}`,
  `node -e "require('fs').writeFileSync('${SETTINGS}', '{}')"`,
  'lookfirst allow a.txt',
  'npx -y lookfirst remove claude-code',
  'lookfirst sessions forget s',
  'lookfirst gc --purge a.txt',
  'lookfirst gc --older-than=1s',
  'lookfirst gc --quota 1',
  'lookfirst init claude-code',
  'lookfirst run --apply c0a1b2c3d4e',
  'lookfirst run --timeout 5s -- lookfirst allow a.txt',
  'LOOKFIRST_SESSION=other lookfirst undo',
  'export LOOKFIRST_OPERATOR=1; lookfirst rewind p1 --all',
  'env -u CLAUDECODE lookfirst undo --session other',
  'env -i HOME=/root lookfirst undo',
  'git config core.hooksPath hooks',
  'git -C sub config --local core.fsmonitor ./run.sh',
  'git config --global --add alias.st "!sh run.sh"',
  'git config set core.sshCommand ./ssh.sh',
  'git config --unset core.hooksPath',
  'git config -f .git/config filter.x.clean ./x.sh && git status',
  'pkill -f lookfirst',
  `kill $(pgrep -f -- --resident)`,
  'rm -rf HOME',
  'tar -CHOME -xf a.tar',
  'cp a.txt --target-directory=HOME',
  'echo exit 0 > HOME/bin/lookfirst-hook',
  'rm -rf "$LOOKFIRST_HOME"',
  `python3 -c "import os; os.remove('HOME/lookfirst.db')"`,
  'printf \'{"mode":"observe"}\' > HOME/lookfirst.json',
  `claude --settings '{"disableAllHooks":true}' -p go`,
  'chmod -x ~/.local/state/lookfirst/bin/lookfirst-hook',
  'if true; then lookfirst allow a.txt; fi',
  'script -qec "lookfirst allow a.txt" /dev/null',
  'script -qc "lookfirst undo c1" /dev/null',
  "tmux new-session -d 'lookfirst allow a.txt'",
  `python3 -c "import os; os.system('lookfirst allow a.txt')"`,
  `node -e "require('child_process').execFileSync('lookfirst', ['allow', 'a.txt'])"`,
  '$(which lookfirst) allow a.txt',
  '"$(command -v lookfirst)" init codex --hooks',
  'echo allow a.txt | xargs lookfirst',
  `echo '{"event":"after","action":"read"}' | lookfirst hook generic --event after`,
  'false || lookfirst allow a.txt',
  'exit() { :; }; exit; lookfirst allow a.txt',
  'cat a.txt; if true; then rm -rf HOME; fi',
  `cat ${SETTINGS} $(rm ${SETTINGS})`,
  `false || rm ${SETTINGS}`,
  `for f in ${SETTINGS}; do cat $f; done > ${SETTINGS}`,
  'find HOME -name lookfirst.db -execdir rm {} +',
  'find HOME -name lookfirst.db -fprint HOME/lookfirst.key',
  'git log --output=HOME/lookfirst.key',
  'tree -o HOME/lookfirst.key',
  'rg --pre rm x HOME/lookfirst.key',
  'ag --pager rm x HOME/lookfirst.key',
  'less --log-f=HOME/lookfirst.key a.txt',
  // `sed` and `sort` can write files and run programs.
  `sed -n 'w ${SETTINGS}' a.txt`,
  `sed -n '/x/w ${SETTINGS}' a.txt`,
  `sed -n '/[/]/w ${SETTINGS}' a.txt`,
  `sed -n '1p;w ${SETTINGS}' a.txt`,
  `sed -n -e p -e 'w ${SETTINGS}' a.txt`,
  `sed --expression='w ${SETTINGS}' a.txt`,
  `sed 's/a/b/w ${SETTINGS}' a.txt`,
  `sed '1e rm ${SETTINGS}' a.txt`,
  `sed -n '1p\nw ${SETTINGS}' a.txt`,
  `sed -f x.sed ${SETTINGS}`,
  `sed -ni p ${SETTINGS}`,
  `sed -n p ${SETTINGS} -i`,
  `sed -n --in-pl p ${SETTINGS}`,
  `sed -n "$SCRIPT" ${SETTINGS}`,
  `sed -n p -[i] ${SETTINGS}`,
  `sort -o ${SETTINGS} a.txt`,
  `sort -uo ${SETTINGS} a.txt`,
  `sort a.txt --output=${SETTINGS}`,
  `sort a.txt --o ${SETTINGS}`,
  `sort --co=rm ${SETTINGS}`,
  `sort $OPTION ${SETTINGS}`,
  `sort -[o]x ${SETTINGS}`,
  `cut -c1 a.txt > ${SETTINGS}`,
  `nl a.txt > ${SETTINGS}`,
  `cat a.txt | tr a b > ${SETTINGS}`,
  `git -C . checkout ${SETTINGS}`,
  `git -c core.pager=rm log ${SETTINGS}`,
  `git -C . -c alias.log=!rm log ${SETTINGS}`,
  `git -C . log --output=${SETTINGS}`,
  `git --no-pager rm ${SETTINGS}`,
  `git -C "$FOLDER" log ${SETTINGS}`,
  // Here-documents.
  `cat <<E | sh\nrm ${SETTINGS}\nE`,
  `cat <<E\n$(rm ${SETTINGS})\nE`,
  `sh <<E\nrm ${SETTINGS}\nE`,
  `npm test && python3 - <<'E'\nopen('${SETTINGS}', 'w')\nE`,
  `node - <<'E' && ls\nfs.rmSync('${SETTINGS}')\nE`,
  `git commit -m "$(cat <<'E'\nx\nE\nrm ${SETTINGS})"`,
  // A command that only reads gives a name to another command.
  `cat ${SETTINGS} && rm ${SETTINGS}`,
  `ls .claude && npm test && rm ${SETTINGS}`,
  `echo ${SETTINGS} | xargs rm`,
  `find .claude -name '*.json' | xargs rm && npm test`,
  `ls ${SETTINGS} && rm $_`,
  `ls ${SETTINGS}; npm test; rm "\${_}"`,
  `f=${SETTINGS}; rm $f`,
  `f=${SETTINGS} sh -c 'rm $f'`,
  `printf -v f ${SETTINGS}; rm "$f"`,
  `read f <<< ${SETTINGS}; rm "$f"`,
  `for f in ${SETTINGS}; do rm $f; done`,
  'cd .claude && ls && rm settings.local.json',
  'ls && cd .claude && rm settings.local.json',
  'ls .claude && (cd .claude; rm settings.local.json)',
  'if true; then cd .claude; rm settings.local.json; fi',
  'pushd .claude; ls; rm settings.local.json',
  `echo ${SETTINGS} > list; xargs rm < list`,
  `while read f; do rm "$f"; done <<E\n${SETTINGS}\nE`,
  'ls .claude && rm -rf .c*',
  'ls .claude && rm -rf .[c]laude',
  'ls .claude && rm -rf .{claude,x}',
  // A command gives another meaning to one that only reads.
  `cat() { rm "$1"; }; cat ${SETTINGS}`,
  `alias cat=rm\ncat ${SETTINGS}`,
  `hash -p /bin/rm cat; cat ${SETTINGS}`,
  `export PATH=/tmp/x; cat ${SETTINGS}`,
  `PATH=/tmp/x; cat ${SETTINGS}; npm test`,
  `PATH=/tmp/x cat ${SETTINGS}; npm test`,
  `. ./x.sh; cat ${SETTINGS}`,
  `trap 'rm ${SETTINGS}' EXIT; ls`,
  `coproc cat ${SETTINGS}; npm test`,
];

const DENIALS =
  /refusing to (?:run (?:the command: it may (?:change|end|switch off) .+, which only the user may do|lookfirst .+: (?:only the user|an agent) may run it.*)|(?:edit|overwrite) .*settings.local.json: it is protected) \[PROTECTED\]/;

/** Commands that only read or mention a settings file, or have nothing to do with it. */
const HARMLESS: readonly string[] = [
  `cat ${SETTINGS}`,
  `git add ${SETTINGS}`,
  'ls -la .claude',
  `if [ -f ${SETTINGS} ]; then cat ${SETTINGS}; fi`,
  `for f in ${SETTINGS}; do cat "$f" || true; done`,
  `while read -r line; do echo "$line"; done < ${SETTINGS}`,
  `grep -n lookfirst ${SETTINGS}`,
  'lookfirst status',
  '$(which lookfirst) status',
  'python3 -c "print(1)" && git commit -m "docs: lookfirst allow"',
  'git config core.hooksPath',
  'git config --get core.fsmonitor',
  'git config get core.sshCommand',
  'git config --list',
  'git config user.name me && git config branch.main.remote origin',
  'kill 999999',
  `cat ${SETTINGS} 2>/dev/null`,
  `ls -la .claude 2>&1 | grep lookfirst`,
  'grep -rn kill src | grep lookfirst',
  'grep -rn disableAllHooks docs',
  'git commit -m "docs: how to kill a process of lookfirst"',
  `sed -n '1,20p' ${SETTINGS}`,
  `sed -ne '/hooks/,$p' -e '$=' ${SETTINGS}`,
  `nl -ba ${SETTINGS} | sed -n '1,20p'`,
  `cat ${SETTINGS} | sort -u | cut -c1-80 | tr a-z A-Z`,
  `git -C . --no-pager diff -- ${SETTINGS}`,
  `cat <<E\nhello\nE\ncat ${SETTINGS}`,
  'ls -la .claude && npm test',
  `cd . && cat ${SETTINGS}; npm test 2>&1 | tail -n 5`,
  `npm test && cat ${SETTINGS} && git push`,
  `git commit -m "mention ${SETTINGS}" && git push`,
  `git add -A && git commit -m "$(cat <<'E'\nmention ${SETTINGS}\nE\n)" && git push`,
  `echo "see ${SETTINGS}" && npm test`,
  'mkdir -p .claude/agents && echo x > .claude/agents/new.md',
  'mkdir -p HOME-backup HOME2',
  'touch ./srcHOME/a.txt .HOME/a.txt',
];

describe('an agent that tries to switch the gate off', () => {
  it('cannot delete a settings file with our entries by a name with other upper and lower case letters', async () => {
    mkdirSync(join(places.root, '.Claude'));
    writeFileSync(join(places.root, '.Claude/Settings.json'), OURS);
    const input = { command: 'rm .Claude/Settings.json' };
    const { verdict } = await agent.send({ event: 'before', action: 'run', input, call: 'c' });
    expect(verdict).toBe('deny');
  });

  it(`is refused ${COMMANDS.length} commands, and each attempt is journalled`, async () => {
    for (const [at, given] of COMMANDS.entries()) {
      // The commands are judged but never run: a command that passed by mistake could end other processes.
      const command = given.replaceAll(/(?<!_)HOME/g, places.home);
      const answer = await agent.send({ event: 'before', action: 'run', input: { command }, call: `${at}` });
      expect([command, answer.verdict]).toEqual([command, 'deny']);
      expect(answer.reason).toContain('[PROTECTED]');
      expect(answer.reason).toMatch(DENIALS);
    }
    await agent.read(SETTINGS, OURS);
    const edit = { path: SETTINGS, old_string: 'lookfirst-hook', new_string: 'true' };
    expect((await agent.change('edit', edit, () => undefined)).verdict).toBe('deny');
    expect(readFileSync(join(places.root, SETTINGS), 'utf8')).toBe(OURS);
    expect(existsSync(join(places.home, 'lookfirst.db'))).toBe(true);
    const noted = async (kind: string) =>
      objects(await lookfirst(places, ['log', '--kind', kind, '--json', '--limit', '0']));
    const notices = await noted('notice');
    const refusals = (await noted('refusal')).filter(({ code }) => code === 'PROTECTED');
    const tries = notices.filter(({ text }) => String(text).startsWith('refused to an agent'));
    expect(tries.length + refusals.length).toBe(COMMANDS.length + 1);
  });

  it('is only observed in observe mode: files inside the workspace are in the report, the rest in notices', async () => {
    writeFileSync(join(places.home, 'lookfirst.json'), '{"mode": "observe"}');
    const announced = (action: string, input: object, call: string) =>
      agent.send({ event: 'before', action, input, call });
    await agent.read(SETTINGS, OURS);
    const edit = { path: SETTINGS, old_string: 'lookfirst-hook', new_string: 'true' };
    expect((await announced('edit', edit, 'a')).verdict).toBe('pass');
    const key = join(places.home, 'lookfirst.key');
    expect((await announced('write', { path: key, content: 'x' }, 'b')).verdict).toBe('pass');
    expect((await announced('run', { command: 'lookfirst allow a.txt' }, 'c')).verdict).toBe('pass');
    const reported = objects(await lookfirst(places, ['audit', '--observed', '--json']));
    expect(reported.map(({ path, code }) => `${path} ${code}`)).toEqual([`${SETTINGS} PROTECTED`]);
    const notices = objects(await lookfirst(places, ['log', '--kind', 'notice', '--json']));
    expect(notices.map(({ text }) => text)).toEqual(
      ['lookfirst allow', key].map((what) => `would have been refused to an agent: ${what}`),
    );
  });

  it('cannot change our state or our entries outside the workspace', async () => {
    const codex = join(places.outside, '.codex');
    mkdirSync(codex);
    writeFileSync(join(codex, 'hooks.json'), OURS);
    symlinkSync(places.home, join(places.outside, 'state'));
    const others = (
      [
        ['.claude.json', 'mcpServers'],
        ['Claude/claude_desktop_config.json', 'mcpServers'],
        ['Code/User/mcp.json', 'servers'],
        ['zed/settings.json', 'context_servers'],
        ['.zed/settings.json', 'context_servers'],
      ] as const
    ).map(([name, servers]) => {
      const file = join(places.outside, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify({ [servers]: { lookfirst: { command: 'npx' } } }));
      return file;
    });
    const files = [
      ...others,
      join(codex, 'hooks.json'),
      join(places.home, 'lookfirst.json'),
      join(places.outside, 'state/bin/lookfirst-hook'),
    ];
    for (const path of files) {
      const write = { event: 'before', action: 'write', input: { path, content: '{}' }, call: path };
      expect([path, (await agent.send(write)).reason]).toEqual([
        path,
        expect.stringContaining('[PROTECTED]'),
      ]);
    }
    for (const command of [
      `rm ${codex}/hooks.json`,
      `cd ${codex} && rm hooks.json`,
      `mv ${codex} /tmp/away`,
    ]) {
      const run = { event: 'before', action: 'run', input: { command }, call: command };
      expect([command, (await agent.send(run)).verdict]).toEqual([command, 'deny']);
    }
    const own = { path: join(codex, 'notes.md'), content: 'x' };
    expect((await agent.send({ event: 'before', action: 'write', input: own, call: 'n' })).verdict).toBe(
      'pass',
    );
  });

  it('may not change a policy file outside the state folder that the hooks use', async () => {
    const policy = join(places.outside, 'policy.json');
    writeFileSync(policy, '{}');
    const hooked = new Hooked(places, { door: openDoor(places, { policy }) });
    for (const [action, input] of [
      ['write', { path: policy, content: '{"mode":"observe"}' }],
      ['run', { command: `echo '{"mode":"observe"}' > ${policy}` }],
      ['run', { command: `python3 -c "open('${policy}','w').write('{}')"` }],
    ] as const)
      expect((await hooked.send({ event: 'before', action, input, call: 'c' })).reason).toContain(
        '[PROTECTED]',
      );
    const reads = { event: 'before', action: 'run', input: { command: `cat ${policy}` }, call: 'd' };
    expect((await hooked.send(reads)).verdict).toBe('pass');
  });

  it('may not change anything while the policy file of the hooks is in the workspace', async () => {
    const policy = join(places.root, 'policy.json');
    writeFileSync(policy, '{}');
    const hooked = new Hooked(places, { door: openDoor(places, { policy }) });
    const write = { event: 'before', action: 'write', input: { path: 'new.txt', content: 'x' }, call: 'c' };
    await expect(hooked.send(write)).rejects.toThrow('lies in the workspace');
  });

  it('may change a settings file that the policy trusts', async () => {
    const trust = JSON.stringify({ commands: { trust: [SETTINGS] } });
    writeFileSync(join(places.home, 'lookfirst.json'), trust);
    await agent.read(SETTINGS, OURS);
    const edit = { path: SETTINGS, old_string: 'lookfirst-hook', new_string: 'true' };
    expect((await agent.change('edit', edit, () => undefined)).verdict).toBe('pass');
  });

  it(`may still run ${HARMLESS.length} other commands`, async () => {
    const denied: string[] = [];
    for (const [index, given] of HARMLESS.entries()) {
      const command = given.replaceAll('HOME', places.home);
      const asked = { event: 'before', action: 'run', input: { command }, call: `c${index}` };
      if ((await agent.send(asked)).verdict !== 'pass') denied.push(given);
    }
    expect(denied).toEqual([]);
  });
});
