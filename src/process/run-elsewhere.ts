import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, Fault } from '../model/fault.ts';
import { quotedWord } from '../report/bounded.ts';
import { clockTicked, keepLater, type Layer, takeOver } from './layer.ts';
import { type CommandEnd, endCommands, endOf } from './run-sandboxed.ts';
import {
  ERROR_FD,
  type SandboxPlan,
  type SandboxTools,
  START_FD,
  STATUS_FD,
  sandboxArgv,
} from './sandbox.ts';

/**
 * A shell script that starts the programs of a command itself, so that they keep its terminal, its
 * environment and its signals. This process only makes the layer.
 */
export interface Elsewhere {
  /** The tag of the process that runs the script; see `abandonedLayers`. */
  readonly owner: string;
  /** `LC_ALL` in the environment of the script. */
  readonly locale: string | undefined;
  /** The command in the record of a layer that outlives this process. */
  readonly title: string;
  /**
   * Gives the script the text that runs the command, and resolves with the exit code of that text.
   * Undefined: the script was killed. The text reads `$lookfirst_line`, the line to run, and sets
   * `$lookfirst_layer`.
   */
  start(text: string): Promise<number | undefined>;
}

interface ElsewhereRun {
  readonly plan: Omit<SandboxPlan, 'layer' | 'locale' | 'command'>;
  readonly layer: Layer;
  /** Identifies the command in the environment of its processes, and the session that runs it. */
  readonly id: string;
  readonly session: string;
  /** Environment variables to set for the command. */
  readonly env: Readonly<Record<string, string>>;
  /** The tag of this process. */
  readonly owner: string | undefined;
}

/** The file in a layer's folder to which the sandbox writes its status lines. */
const STATUS = 'status';

/** Like `runSandboxed`, for a sandbox that a shell script starts. */
export async function runElsewhere(
  tools: SandboxTools,
  { plan, layer, id, session, env, owner }: ElsewhereRun,
  elsewhere: Elsewhere,
): Promise<CommandEnd> {
  const { locale, title } = elsewhere;
  const text = scriptOf(tools, { ...plan, layer: layer.folder, locale, command: [] }, env);
  keepLater(layer, { session, command: title });
  // Wait for the next tick of the file system's clock, so that the command's writes get a later
  // time than all writes before it.
  clockTicked(layer);
  const code = await elsewhere.start(text);
  if (code === undefined) {
    endCommands([id]);
    return { kind: 'ended', why: 'cancelled' };
  }
  try {
    // The script may be killed during the commit. Another process must not remove the layer then.
    if (owner !== undefined) takeOver(layer, owner);
    return endOf(readFileSync(join(layer.folder, STATUS), 'utf8'), code);
  } catch (error) {
    const reason = errnoOf(error);
    if (reason === undefined) throw error;
    const message = `the layer of the command cannot be read (${reason}), so its writes were not committed`;
    throw new Fault('IO_FAILED', message, { cause: error, path: layer.folder, reason, unchanged: true });
  }
}

/**
 * The text that runs a plan in the folder of its layer. It opens the descriptors that the sandbox
 * uses; see `FIRST_PROCESS`. The sandbox is a child of the script, so it ends with the script.
 */
function scriptOf(tools: SandboxTools, plan: SandboxPlan, env: Readonly<Record<string, string>>): string {
  const variables = Object.entries({ ...env, LC_ALL: 'C' }).map(
    ([name, value]) => `${name}=${quotedWord(value)}`,
  );
  const words = sandboxArgv(tools, plan).map(quotedWord).join(' ');
  return `lookfirst_layer=${quotedWord(plan.layer)}
(cd "$lookfirst_layer" && export ${variables.join(' ')} && exec ${words} "\${SHELL:-/bin/sh}" -c "$lookfirst_line") ${ERROR_FD}>&2 ${STATUS_FD}>"$lookfirst_layer/${STATUS}" ${START_FD}<<START

START`;
}
