import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deltasOf } from '../../src/model/entry.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { type Replayed, ReplayedClient, type Replied } from './replayed-client.ts';
import { entriesBelow, type Scratch, scratch } from './tree.ts';

/** Number of files that a replayed session changed, and what the gate knows about them. */
export interface Coverage {
  mutations: number;
  /** Files changed by a call that a hook has allowed. */
  judged: number;
  /** Files that the journal entries of the call name. Their recorded bytes are not compared. */
  recorded: number;
  /** Files whose former state is restored when the call's journal entry is undone. */
  undone: number;
  /** Denials of a well-behaved agent's calls. */
  refused: string[];
  /**
   * Changed files that git ignores. If commands run without an overlay layer, these changes are not
   * recorded, so they are counted separately.
   */
  ignored: number;
  /** The first few files that are not covered, for the failure message. */
  missed: string[];
}

type Files = ReadonlyMap<string, string>;
interface Step {
  readonly before: Files;
  readonly after: Files;
  readonly changes: readonly string[];
}

/**
 * Replays a session of one client that works in a git repository: it reads, writes and edits with
 * its own tools, and its shell makes `shellShare` of the changes. Then undoes every recorded
 * change, newest first.
 */
export async function coverageOf(
  client: Replayed,
  options: {
    readonly mode: 'default' | 'unattended';
    readonly calls: number;
    readonly shellShare: number;
    readonly seed: number;
    /**
     * The kind of the first call. Short runs begin with different kinds, so that together they try
     * every kind.
     */
    readonly first: number;
  },
): Promise<Coverage> {
  const places = scratch();
  // `git` removes the time limit for git. The default of three seconds may be too short on a loaded
  // machine.
  makeRepository(places);
  const agent = new ReplayedClient(places, client, options.mode);
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  const count: Coverage = {
    mutations: 0,
    judged: 0,
    recorded: 0,
    undone: 0,
    refused: [],
    ignored: 0,
    missed: [],
  };
  const random = seeded(options.seed);
  const steps: Step[] = [];
  let lastSeq = 0;
  const made = { shell: options.first, tool: options.first };
  try {
    for (let at = 0; at < options.calls; at += 1) {
      const before = filesOf(places.root);
      const turn = { agent, places, names: [...before.keys()], random, at };
      const throughShell = (made.shell - options.first) / (at + 1) < options.shellShare;
      const { denied, text } = throughShell
        ? await shellCall(turn, made.shell)
        : await toolCall(turn, made.tool);
      made[throughShell ? 'shell' : 'tool'] += 1;
      if (denied) count.refused.push(`call ${at}: ${text}`);
      const after = filesOf(places.root);
      const kinds = ['change', 'unjudged'] as const;
      const entries = (
        await sessions.world.store.entries({ session: agent.session, kinds, limit: 50 })
      ).filter(({ seq }) => seq > lastSeq);
      lastSeq = Math.max(lastSeq, ...entries.map(({ seq }) => seq));
      const recorded = new Set(entries.flatMap((entry) => deltasOf(entry).map(({ relative }) => relative)));
      const judged = !denied && entries.every(({ kind }) => kind === 'change');
      for (const name of differences(before, after)) {
        if (isIgnored(name)) {
          count.ignored += 1;
          continue;
        }
        count.mutations += 1;
        if (judged) count.judged += 1;
        if (recorded.has(name)) count.recorded += 1;
        else if (count.missed.length < 5) count.missed.push(`call ${at} did not record ${name}`);
      }
      steps.push({ before, after, changes: entries.flatMap(({ change }) => change ?? []) });
    }
    const session = await sessions.session(agent.session);
    for (const { before, after, changes } of steps.reverse()) {
      for (const change of changes) await session.undo({ change });
      const now = filesOf(places.root);
      for (const name of differences(before, after).filter((each) => !isIgnored(each))) {
        if (now.get(name) === before.get(name)) count.undone += 1;
        else if (count.missed.length < 5) count.missed.push(`${name} did not come back`);
      }
    }
  } finally {
    await sessions.close();
  }
  return count;
}

const FOLDERS = ['src', 'lib', 'docs'];

function makeRepository({ root }: Scratch): void {
  for (const folder of FOLDERS) {
    mkdirSync(join(root, folder));
    for (let file = 0; file < 6; file += 1)
      writeFileSync(join(root, folder, `f${file}.txt`), linesOf(`${folder} ${file}`));
  }
  symlinkSync('f1.txt', join(root, 'docs/tracked-link'));
  writeFileSync(join(root, '.gitignore'), 'node_modules/\n');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'pipe' });
  git('init', '-q');
  git('config', 'user.name', 'a');
  git('config', 'user.email', 'a@b.c');
  git('add', '-A');
  git('commit', '-qm', 'one');
}

function linesOf(text: string): string {
  return Array.from({ length: 8 }, (_, line) => `${text} line ${line}\n`).join('');
}

interface Turn {
  readonly agent: ReplayedClient;
  readonly places: Scratch;
  readonly names: readonly string[];
  readonly random: () => number;
  readonly at: number;
}

function pick<T>({ random }: Turn, from: readonly T[]): T {
  const chosen = from[Math.floor(random() * from.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}

function textFile(turn: Turn): string {
  return pick(
    turn,
    turn.names.filter((name) => name.endsWith('.txt')),
  );
}

async function toolCall(turn: Turn, kind: number): Promise<Replied> {
  const { agent, at, places } = turn;
  const name = textFile(turn);
  if (kind % 3 === 0) return agent.write(`${pick(turn, FOLDERS)}/new${at}.txt`, linesOf(`new ${at}`));
  await agent.read(name);
  const lines = readFileSync(join(places.root, name), 'utf8').split('\n');
  const [line = ''] = lines;
  const isEdit = kind % 3 === 1 && line !== '' && lines.filter((each) => each === line).length === 1;
  return isEdit
    ? agent.edit(name, `${line}\n`, `${line} edited at ${at}\n`)
    : agent.write(name, linesOf(`rewritten ${at}`));
}

/**
 * A change as agents make it through a shell: redirected output, scripts, moves, deletions, git, or
 * many files at once.
 */
async function shellCall(turn: Turn, kind: number): Promise<Replied> {
  const { agent, at } = turn;
  const name = textFile(turn);
  const { needsRead, command } = SHELL_CALLS[kind % SHELL_CALLS.length] ?? { command: () => 'true' };
  if (needsRead === true || turn.random() < 0.5) await agent.read(name);
  return agent.shell(command(name, at));
}

interface ShellCall {
  /** The command certainly writes the file, so it is refused if the agent has not read the file. */
  readonly needsRead?: true;
  command(name: string, at: number): string;
}

const SHELL_CALLS: readonly ShellCall[] = [
  { command: (_, at) => `printf 'made ${at}\\n' > src/made${at}.txt` },
  { needsRead: true, command: (name, at) => `cat > ${name} <<'END'\nhere ${at}\nEND` },
  {
    command: (name, at) =>
      `python3 -c "p='${name}'; t=open(p).read(); open(p,'w').write(t+'by script ${at}\\n')"`,
  },
  { needsRead: true, command: (name, at) => `sed -i '1s/^/${at} /' ${name}` },
  { command: (name, at) => `mv ${name} docs/moved${at}.txt` },
  { command: (name) => `rm ${name}` },
  { command: (_, at) => `mkdir -p deep/d${at} && for i in 1 2 3; do echo $i > deep/d${at}/g$i.txt; done` },
  { command: (_, at) => `find src -name '*.txt' | head -4 | xargs sed -i '$s/$/ ${at}/'` },
  { command: (name, at) => `cp ${name} lib/copy${at}.txt; chmod 755 lib/copy${at}.txt` },
  { command: (name) => `git checkout -q -- . ; printf 'again\\n' >> docs/again.txt; touch ${name}` },
  {
    command: (_, at) =>
      `ls -la && node -e "require('fs').appendFileSync('docs/log.txt', 'node ${at}\\n')" && cat .gitignore`,
  },
  {
    command: (name, at) =>
      `chmod u+x ${name}; ln -s ../${name} docs/link${at}; ln -sfn elsewhere docs/tracked-link`,
  },
  {
    command: (_, at) =>
      `mkdir -p node_modules/p && echo ${at} > node_modules/p/i.js && echo ${at} > lib/lock.txt`,
  },
];

function isIgnored(name: string): boolean {
  return name.startsWith('node_modules/');
}

function filesOf(root: string): Files {
  const found = new Map<string, string>();
  for (const { path, entry } of entriesBelow(root)) {
    const name = path.slice(root.length + 1);
    if (name === '.git' || name.startsWith('.git/')) continue;
    if (entry.isSymbolicLink()) found.set(name, `=> ${readlinkSync(path)}`);
    else if (entry.isFile())
      found.set(name, `${(lstatSync(path).mode & 0o777).toString(8)} ${readFileSync(path, 'utf8')}`);
  }
  return found;
}

function differences(one: Files, other: Files): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter((name) => one.get(name) !== other.get(name));
}

/** Mulberry32: a small generator whose sequence depends only on the seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
