import { join } from 'node:path';
import { Fault } from '../../model/fault.ts';
import { Records } from '../../records/records.ts';
import { jsonText } from '../../report/bounded.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { answer } from '../columns.ts';
import { type ServerAnswer, ServerProcess } from '../server-process.ts';
import { Stage } from '../stage.ts';

/** `lookfirst demo`: shows five promises of Lookfirst with real calls on real files. */
export const DEMO: CliCommand = defineCommand({
  about:
    'Shows what Lookfirst refuses, merges and undoes, with a real server, real calls and real files in a temporary folder. Takes a few seconds.',
  flags: {},
  notes: `
Exits with 1 if a promise doesn't hold on this machine.

Example:
  npx lookfirst demo`,
  run: demo,
});

async function demo(cli: Cli): Promise<ExitCode> {
  const isText = cli.flags.json !== true;
  const stage = new Stage();
  try {
    await openStore(stage);
    if (isText) await cli.terminal.print(`${INTRODUCTION}\n${stage.workspace}\n`);
    const held = await playScenes(cli, stage, (shown) => show(cli, shown));
    if (isText) await cli.terminal.print(closing(held));
    return held === SCENES.length ? EXIT.done : EXIT.fault;
  } finally {
    stage.close();
  }
}

/** Fails if no store can be opened here. A server would report that only with each call. */
async function openStore({ state }: Stage): Promise<void> {
  const records = await Records.open({ home: state, store: `sqlite:${join(state, 'lookfirst.db')}` }, 'make');
  await records.close();
}

/** A scene that was played, and whether its promise held. */
interface PlayedScene {
  readonly number: number;
  readonly scene: DemoScene;
  readonly lines: readonly DemoLine[];
  readonly ok: boolean;
}

/** Plays all scenes with two servers on a stage. Returns how many promises held. */
export async function playScenes(
  cli: Pick<Cli, 'self'>,
  stage: Stage,
  played: (shown: PlayedScene) => Promise<void>,
): Promise<number> {
  const servers: ServerProcess[] = [];
  try {
    const env = { ...process.env, ...stage.env };
    for (const session of ['agent-1', 'agent-2'])
      servers.push(
        await ServerProcess.start([...cli.self, 'serve', stage.workspace, '--session', session], env),
      );
    const [agent, second] = servers;
    if (agent === undefined || second === undefined) throw new Fault('MISUSE', 'no servers');
    let held = 0;
    for (const [index, scene] of SCENES.entries()) {
      const lines: DemoLine[] = [];
      const ok = await scene.play(playOf({ stage, agent, second }, lines));
      if (ok) held += 1;
      await played({ number: index + 1, scene, lines, ok });
    }
    return held;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

const INTRODUCTION = `Lookfirst stands between an AI agent and your files. Here an agent works in a folder that
was made for this demo; every line below is a real call to a real server:`;

function playOf(cast: Pick<Play, 'stage' | 'agent' | 'second'>, lines: DemoLine[]): Play {
  const tell = (who: DemoLine['who'], text: string): void => void lines.push({ who, text });
  return {
    ...cast,
    tell,
    act: async (tool, args) => {
      tell('agent', `${tool} ${jsonText(args)}`);
      const answer = await cast.agent.call(tool, args);
      tell('gate', wordsOf(answer));
      return answer;
    },
  };
}

/** The first line of an answer, and the lines of a diff in it; at most 6 lines in all. */
function wordsOf({ text, ok }: ServerAnswer): string {
  const lines = text.split('\n').filter((line) => line !== '');
  const shown = lines.filter((line, i) => i === 0 || /^(@@|[-+][^-+])/.test(line)).slice(0, 6);
  return `${ok ? 'ok: ' : ''}${shown.join('\n')}`;
}

async function show(cli: Cli, { number, scene, lines, ok }: PlayedScene): Promise<void> {
  const { title, promise } = scene;
  const { colours } = cli.terminal;
  const paint = (line: DemoLine): string => {
    const text = line.text.split('\n').join(`\n${' '.repeat(11)}`);
    const isRefusal = line.who === 'gate' && !line.text.startsWith('ok');
    return `   ${line.who.padEnd(7)} ${isRefusal ? colours.yellow(text) : text}`;
  };
  const text = [
    colours.bold(`${number}. ${title}: ${promise}`),
    ...lines.map(paint),
    ok ? colours.green('   promise held') : colours.red('   PROMISE BROKEN'),
    '',
  ];
  await answer(cli, { number, title, promise, held: ok, lines }, text.join('\n'));
}

function closing(held: number): string {
  const all = SCENES.length;
  const rest =
    held === all
      ? 'Next: lookfirst init CLIENT adds it to your client; lookfirst doctor checks this machine.'
      : '';
  return `${held} of ${all} promises held. ${rest}`.trimEnd();
}

interface DemoLine {
  readonly who: 'agent' | 'agent 2' | 'gate' | 'user' | 'file';
  readonly text: string;
}

/** The folders, servers and functions that a scene of the demo uses. */
interface Play {
  readonly stage: Stage;
  readonly agent: ServerProcess;
  readonly second: ServerProcess;
  tell(who: DemoLine['who'], text: string): void;
  /** Calls a tool as the agent and adds the call and its answer to the output. */
  act(tool: string, args: Readonly<Record<string, unknown>>): Promise<ServerAnswer>;
}

/** One promise and the calls that demonstrate it. */
interface DemoScene {
  readonly title: string;
  readonly promise: string;
  /** Makes the calls. Resolves to true if the promise held. */
  play(play: Play): Promise<boolean>;
}

const ROUNDS = 10;

/** The five promises, each demonstrated with real calls on real files. */
export const SCENES: readonly DemoScene[] = [
  {
    title: 'A blind write',
    promise: 'an agent may only overwrite what it has read',
    play: async ({ stage, tell, act }) => {
      stage.put('notes.md', 'Three years of notes.\n');
      const blind = await act('write_file', { path: 'notes.md', content: 'TODO: notes\n' });
      const held = blind.code === 'NOT_READ' && stage.text('notes.md') === 'Three years of notes.\n';
      tell('file', `notes.md still says: ${stage.text('notes.md').trim()}`);
      return held;
    },
  },
  {
    title: 'A user edits the same file',
    promise: 'a change that the agent has not seen is shown to it and never lost',
    play: async ({ stage, tell, act }) => {
      stage.put('settings.ini', 'colour = blue\nsize = 10\n\nport = 80\nhost = localhost\n');
      await act('read_file', { path: 'settings.ini' });
      save(stage, 'colour = blue', 'colour = green');
      tell('user', 'saves the same file in an editor: colour = green');
      const edit = { path: 'settings.ini', old_string: 'port = 80', new_string: 'port = 8080' };
      const merged = await act('edit_file', edit);
      const both = ['colour = green', 'port = 8080'].every((line) =>
        stage.text('settings.ini').includes(line),
      );
      tell('file', `has both changes: ${both ? 'yes' : 'no'}`);
      save(stage, 'size = 10', 'size = 11');
      tell('user', 'saves it again: size = 11');
      const old = 'colour = red\nsize = 10\n\nport = 8080\nhost = localhost\n';
      const stale = await act('write_file', { path: 'settings.ini', content: old });
      const kept = stage.text('settings.ini').includes('size = 11');
      tell('file', `still says size = 11: ${kept ? 'yes' : 'no'}`);
      return merged.ok && both && stale.code === 'STALE' && kept;
    },
  },
  {
    title: 'Two agents at once',
    promise: 'edits at the same time do not overwrite each other',
    play: async ({ stage, agent, second, tell }) => {
      const jobs = Array.from({ length: 2 * ROUNDS }, (_, i) => `job ${String(i + 1).padStart(2, '0')}`);
      stage.put('jobs.txt', jobs.map((job) => `${job}: open\n`).join(''));
      const path = 'jobs.txt';
      for (const each of [agent, second]) await each.call('read_file', { path });
      const edits = jobs.map((job, i) => {
        const [each, name] = i % 2 === 0 ? [agent, 'agent 1'] : [second, 'agent 2'];
        return each.call('edit_file', { path, old_string: `${job}: open`, new_string: `${job}: ${name}` });
      });
      tell('agent', `and agent 2, in two processes, send ${edits.length} edits of one file at the same time`);
      await Promise.all(edits);
      const left = stage.text(path).split('open').length - 1;
      tell('file', `${2 * ROUNDS - left} of ${2 * ROUNDS} edits are there`);
      return left === 0;
    },
  },
  {
    title: 'Containment',
    promise: 'no path leads out of the workspace',
    play: async ({ stage, tell, act }) => {
      stage.putOutside('secret.txt', 'top secret\n', 'shortcut');
      const attempts = ['../outside/secret.txt', 'shortcut/secret.txt'];
      const codes: (string | undefined)[] = [];
      for (const path of attempts) codes.push((await act('read_file', { path })).code);
      codes.push((await act('write_file', { path: 'shortcut/new.txt', content: 'x' })).code);
      tell('file', `outside: ${stage.outsideText('secret.txt').trim()}, and no agent has seen it`);
      return codes.every((code) => code === 'OUTSIDE_WORKSPACE');
    },
  },
  {
    title: 'Undo',
    promise: 'every change can be undone, even a deletion',
    play: async ({ stage, tell, act }) => {
      stage.put('thesis.txt', 'The only copy.\n');
      await act('read_file', { path: 'thesis.txt' });
      const gone = await act('delete_path', { path: 'thesis.txt' });
      const back = await act('undo_change', { change: gone.change ?? '' });
      if (back.ok) tell('file', `thesis.txt is back: ${stage.text('thesis.txt').trim()}`);
      return back.ok && stage.text('thesis.txt') === 'The only copy.\n';
    },
  },
];

function save(stage: Stage, from: string, to: string): void {
  stage.put(
    'settings.ini',
    stage.text('settings.ini').replace(from, () => to),
  );
}
