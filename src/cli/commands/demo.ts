import { Command } from 'commander';
import { Fault } from '../../model/fault.ts';
import { jsonText } from '../../report/bounded.ts';
import type { Cli } from '../cli.ts';
import type { DemoLine, DemoScene, Play } from '../demo/scene.ts';
import { SCENES } from '../demo/scenes.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { type ServerAnswer, ServerProcess } from '../server-process.ts';
import { Stage } from '../stage.ts';

interface DemoFlags {
  readonly json?: boolean;
}

/** `lookfirst demo`: shows the five promises with real calls on real files. */
export function defineDemo(cli: Cli): Command {
  return new Command('lookfirst demo')
    .description(
      'Plays the five promises in a temporary folder: a real server, real calls, real files. Takes a few seconds.',
    )
    .option('--json', 'answer in JSON, one object a line')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: DemoFlags) => cli.end(await demo(cli, flags)));
}

const EXAMPLES = `
It ends with 1 if a promise did not hold on this machine.

Example:
  npx lookfirst demo`;

async function demo(cli: Cli, flags: DemoFlags): Promise<ExitCode> {
  const stage = new Stage();
  const servers: ServerProcess[] = [];
  try {
    const env = { ...process.env, LOOKFIRST_HOME: stage.state, LOOKFIRST_SESSION: '', LOOKFIRST_STORE: '' };
    for (const session of ['agent-1', 'agent-2'])
      servers.push(
        await ServerProcess.start([...cli.self, 'serve', stage.workspace, '--session', session], env),
      );
    const [agent, second] = servers;
    if (agent === undefined || second === undefined) throw new Fault('MISUSE', 'no servers');
    if (flags.json !== true) await cli.terminal.print(`${INTRODUCTION}\n${stage.workspace}\n`);
    let held = 0;
    for (const [index, scene] of SCENES.entries()) {
      const lines: DemoLine[] = [];
      const ok = await scene.play(playOf({ stage, agent, second }, lines));
      if (ok) held += 1;
      await show(cli, flags, { number: index + 1, scene, lines, ok });
    }
    if (flags.json !== true) await cli.terminal.print(closing(held));
    return held === SCENES.length ? EXIT.done : EXIT.fault;
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    stage.close();
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

/** The first line of an answer, and the lines of a diff in it. */
function wordsOf({ text, ok }: ServerAnswer): string {
  const lines = text.split('\n').filter((line) => line !== '');
  const shown = lines.filter((line, i) => i === 0 || /^(@@|[-+][^-+])/.test(line)).slice(0, 6);
  return `${ok ? 'ok: ' : ''}${shown.join('\n')}`;
}

async function show(
  cli: Cli,
  flags: DemoFlags,
  shown: {
    readonly number: number;
    readonly scene: DemoScene;
    readonly lines: readonly DemoLine[];
    readonly ok: boolean;
  },
): Promise<void> {
  const { number, scene, lines, ok } = shown;
  const { title, promise } = scene;
  const { colours } = cli.terminal;
  if (flags.json === true) {
    await cli.terminal.printJson({ number, title, promise, held: ok, lines });
    return;
  }
  const paint = (line: DemoLine): string => {
    const text = line.text.split('\n').join(`\n${' '.repeat(11)}`);
    const isRefusal = line.who === 'gate' && !line.text.startsWith('ok');
    return `   ${line.who.padEnd(7)} ${isRefusal ? colours.yellow(text) : text}`;
  };
  await cli.terminal.print(
    [
      colours.bold(`${number}. ${title}: ${promise}`),
      ...lines.map(paint),
      ok ? colours.green('   held') : colours.red('   NOT HELD'),
      '',
    ].join('\n'),
  );
}

function closing(held: number): string {
  const all = SCENES.length;
  const rest =
    held === all ? 'lookfirst init CLIENT puts it before yours; lookfirst doctor checks this machine.' : '';
  return `${held} of ${all} promises held. ${rest}`.trimEnd();
}
