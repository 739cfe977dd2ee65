import { randomBytes } from 'node:crypto';
import { Fault } from '../model/fault.ts';
import { quotedWord } from '../report/bounded.ts';
import type { ConfigSources } from '../session/configured.ts';
import {
  type LineRunner,
  type OpenedWorkspace,
  runPrefixedLine,
  type ScriptOwner,
  scriptOwner,
} from '../session/prefixed-line.ts';
import type { ResidentCall } from './resident/ask-resident.ts';

type Open = (root: string) => Promise<OpenedWorkspace>;

/**
 * The lines of Claude Code's shell that scripts run for this process (see `shellScript`). Each
 * answer to a script is shell text. The script evaluates it, which runs the line or ends the script.
 */
export class RemoteShells {
  readonly #around: ConfigSources;
  readonly #open: Open;
  readonly #running = new Map<string, RemoteShell>();

  constructor(around: ConfigSources, open: Open) {
    this.#around = around;
    this.#open = open;
  }

  /** True while a line runs. Also cancels the lines whose script was killed. */
  isBusy(): boolean {
    for (const shell of this.#running.values()) shell.check();
    return this.#running.size > 0;
  }

  /** The first answer to a script that is to run a line. Undefined if the script must not use this process. */
  async begin({ text: line, headers, socket }: ResidentCall): Promise<string | undefined> {
    const owner = scriptOwner(headers['x-lookfirst-pid'] ?? '', line);
    if (owner === undefined || socket === undefined) return undefined;
    const locale = headers['x-lookfirst-locale'] || undefined;
    const shell = new RemoteShell(this.#open, { owner, locale, socket });
    const env = { ...this.#around.env, CLAUDE_CODE_SESSION_ID: headers['x-lookfirst-session'] };
    const around = { ...this.#around, env, cwd: headers['x-lookfirst-cwd'] ?? '/' };
    this.#running.set(shell.id, shell);
    const text = shell.nextText();
    void shell
      .finish(runPrefixedLine({ line, around, flags: {}, runner: shell }))
      .then(() => this.#running.delete(shell.id));
    return text;
  }

  /** The next answer to a script whose line has ended. Undefined if this process does not know the script. */
  async end({ headers }: ResidentCall): Promise<string | undefined> {
    const shell = this.#running.get(headers['x-lookfirst-id'] ?? '');
    return shell?.ended(Number(headers['x-lookfirst-code']));
  }
}

interface RemoteScript {
  readonly owner: ScriptOwner;
  /** `LC_ALL` in the environment of the script. */
  readonly locale: string | undefined;
  /** The name of this process's socket. A newer resident process does not know the script. */
  readonly socket: string;
}

/** The text that runs the line as the client would without Lookfirst. */
const PLAINLY = `"\${SHELL:-/bin/sh}" -c "$lookfirst_line"`;

/** One script, as the program that runs a line. */
class RemoteShell implements LineRunner {
  readonly id: string = randomBytes(8).toString('hex');
  readonly open: Open;
  readonly elsewhere: NonNullable<LineRunner['elsewhere']>;
  readonly #script: RemoteScript;
  /** Commands that print what the model is to read with the next answer. */
  #told = '';
  #answer:
    | { readonly resolve: (text: string) => void; readonly reject: (error: unknown) => void }
    | undefined;
  #end: ((code: number | undefined) => void) | undefined;

  constructor(open: Open, script: RemoteScript) {
    this.open = open;
    this.#script = script;
    const { owner, locale } = script;
    this.elsewhere = { owner: owner.tag, locale, start: (text) => this.#start(text) };
  }

  readonly tell = (text: string): void => {
    this.#told += `printf '%s\\n' ${quotedWord(text)} >&2\n`;
  };

  async plainly(after: 'nothing' | 'settle'): Promise<number> {
    if (after === 'settle') return (await this.#start(PLAINLY)) ?? 0;
    this.#say(`exec ${PLAINLY}`);
    return 0;
  }

  /** Resolves when there is an answer to the script's present call. */
  nextText(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject };
    });
  }

  /** Ends the script with the exit code of its line. */
  async finish(line: Promise<number>): Promise<void> {
    try {
      this.#say(`exit ${await line}`);
    } catch (error) {
      if (!(error instanceof Fault)) return this.#answer?.reject(error);
      this.tell(`lookfirst: ${error.message} [${error.code}]`);
      this.#say('exit 1');
    }
  }

  ended(code: number): Promise<string> {
    const text = this.nextText();
    this.#end?.(code);
    return text;
  }

  /** Cancels the line if its script was killed. */
  check(): void {
    if (!this.#script.owner.isAlive()) this.#end?.(undefined);
  }

  #start(text: string): Promise<number | undefined> {
    this.#say(`lookfirst_socket=${this.#script.socket}\n${text}\nlookfirst_ended ${this.id} $?`);
    return new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  #say(text: string): void {
    this.#answer?.resolve(this.#told + text);
    this.#answer = undefined;
    this.#told = '';
  }
}
