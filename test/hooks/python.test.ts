import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { environment, lookfirst, PROGRAM } from '../support/command-line.ts';
import { scratch } from '../support/tree.ts';

const CLIENT = new URL('../../packaging/python', import.meta.url).pathname;
const hasPython = spawnSync('python3', ['--version']).status === 0;

const AGENT = `
import json, sys
from lookfirst_hook import Denied, Lookfirst

gate = Lookfirst(session="agent-7", command=json.loads(sys.argv[1]))
gate.prompt("change a.txt")
new = {"path": "a.txt", "content": "two\\n"}
try:
    gate.before("write", new)
    print("not denied")
except Denied as denied:
    print(denied)
gate.after("read", {"path": "a.txt"}, output=open("a.txt").read())
call = gate.before("write", new)
open("a.txt", "w").write("two\\n")
print(gate.after("write", new, call=call))
gate.end()
`;

it.skipIf(!hasPython)(
  'the Python client is denied a blind write, and its judged write can be undone',
  async () => {
    const places = scratch();
    const file = join(places.root, 'a.txt');
    writeFileSync(file, 'one\n');
    // Name a store, so that the calls start no background process.
    const store = { LOOKFIRST_STORE: `sqlite:${join(places.home, 'lookfirst.db')}` };
    const env = { ...environment(places, store), PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' };
    const ran = spawnSync('python3', ['-c', AGENT, JSON.stringify(PROGRAM)], {
      cwd: places.root,
      env,
      encoding: 'utf8',
    });
    expect(ran.stderr).toBe('');
    expect(ran.stdout).toMatch(/^refusing to overwrite a\.txt: read it first \[NOT_READ\]/);
    expect(ran.stdout).toMatch(/\nNone\n$/);
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toBe('one\n');
  },
);
