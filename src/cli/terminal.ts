import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import picocolors from 'picocolors';
import { harmless, jsonText } from '../report/bounded.ts';
import { type Colours, PLAIN, type TableColumn, table } from './table.ts';

/** A stream that may be a terminal. */
type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

export interface TerminalStreams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
}

/** A command that prints nothing for this long says on a terminal that it is working. */
const SILENCE_MS = 1000;
const CLEAR_LINE = '\r\u001b[K';
/** The time between two updates of a progress bar. Each update costs a system call. */
const STEP_MS = 80;
const BAR_CHARS = 24;

/** The values of `--color`. `auto`: colours only on a terminal. */
type ColourChoice = 'auto' | 'always' | 'never';

/** The output of a command: answers go to stdout, everything else to stderr. */
export class Terminal {
  readonly colours: Colours;
  readonly #streams: TerminalStreams;
  readonly #isDumb: boolean;
  /** The colours of stderr, which may be a terminal when stdout is not. */
  readonly #errorColours: Colours;
  #pager: Pager | undefined;
  /** The answer so far, if it is for the pager. */
  #collected = '';
  #silence: NodeJS.Timeout | undefined;
  #isWorkShown = false;
  #progressMs = 0;

  constructor(
    streams: TerminalStreams,
    env: Readonly<Record<string, string | undefined>>,
    when: ColourChoice = 'auto',
  ) {
    this.#streams = streams;
    this.#isDumb = env['TERM'] === 'dumb';
    const isColoured = when === 'always' || (when === 'auto' && isColourful(streams.stdout, env));
    this.colours = isColoured ? picocolors.createColors(true) : PLAIN;
    const isRed = when === 'always' || (when === 'auto' && isColourful(streams.stderr, env));
    this.#errorColours = isRed ? picocolors.createColors(true) : PLAIN;
  }

  /** The width of the terminal; undefined if the answer goes to a file or another program. */
  get width(): number | undefined {
    const { isTTY, columns } = this.#streams.stdout;
    return isTTY === true && columns !== undefined && columns > 0 ? columns : undefined;
  }

  /**
   * Prepares text that comes from files for printing. On a terminal, makes control characters
   * visible. For a file or another program, returns the text unchanged.
   */
  shown(text: string): string {
    return this.#streams.stdout.isTTY === true ? harmless(text) : text;
  }

  /** True if a user at a terminal can answer questions. */
  get isInteractive(): boolean {
    return this.#streams.stdin.isTTY === true && this.#streams.stdout.isTTY === true;
  }

  /** Writes one or more lines of the answer; waits while the reader is slow. */
  async print(text: string): Promise<void> {
    this.#endSilence();
    const { stdout } = this.#streams;
    if (this.#pager !== undefined) this.#collected += `${text}\n`;
    else if (!stdout.write(`${text}\n`)) await once(stdout, 'drain');
  }

  /**
   * From now on, an answer longer than the terminal goes through the user's pager. Does nothing
   * without a terminal.
   */
  page(env: Readonly<Record<string, string | undefined>>, platform: NodeJS.Platform): void {
    const { stdout } = this.#streams;
    // Use no pager by default on Windows, which has no `less`. There the shell exits with 1 both
    // for a missing program and for a pager that failed, so `#showPages` could not recognise a
    // missing one.
    const usual = platform === 'win32' ? '' : 'less';
    const command = (env['LOOKFIRST_PAGER'] ?? env['PAGER'] ?? usual).trim();
    if (stdout.isTTY !== true || command === '' || command === 'cat' || env['TERM'] === 'dumb') return;
    this.#pager = { command, env };
  }

  /** Writes a value as one line of JSON, with control characters and line breaks escaped. */
  printJson(value: unknown): Promise<void> {
    return this.print(jsonText(value));
  }

  /** Resolves when everything printed has left this process. */
  async flushed(): Promise<void> {
    this.#endSilence();
    const { stdout } = this.#streams;
    if (this.#pager !== undefined) await this.#showPages(this.#pager);
    if (stdout.writable) await new Promise<void>((resolve) => void stdout.write('', () => resolve()));
  }

  /**
   * Shows the collected answer. If it does not fit on the terminal, resolves when the user has left
   * the pager. Prints a short answer directly, and every answer if the pager is not installed.
   */
  async #showPages(pager: Pager): Promise<void> {
    const { stdout } = this.#streams;
    const text = this.#collected;
    this.#collected = '';
    const isLong = text.split('\n').length > (stdout.rows || ROWS);
    if (!isLong || (await runPager(pager, text)) === NOT_FOUND) stdout.write(text);
  }

  /** Prints rows under titles, cut to fit the terminal. */
  printTable<T>(
    columns: readonly TableColumn<NoInfer<T>>[],
    rows: readonly T[],
    lines: Parameters<typeof table>[2] = {},
  ): Promise<void> {
    const { width, colours } = this;
    return this.print(table(columns, rows, { ...lines, width, colours }));
  }

  /** Writes a line for users that is not part of the answer. */
  tell(text: string): void {
    this.#endSilence();
    this.#streams.stderr.write(`${text}\n`);
  }

  /** Writes a line about a fault. */
  tellFault(text: string): void {
    const [first = '', ...rest] = text.split('\n');
    this.tell([this.#errorColours.red(first), ...rest].join('\n'));
  }

  /** True if a line can be shown while the command works. A dumb terminal would show its control characters. */
  get #showsWork(): boolean {
    return this.#streams.stderr.isTTY === true && !this.#isDumb;
  }

  /** If nothing is written for a second, says on a terminal that the command is working, until it writes something. */
  sayIfSilent(): void {
    if (!this.#showsWork) return;
    const say = (): void => {
      this.#isWorkShown = true;
      this.#streams.stderr.write('working …');
    };
    this.#silence = setTimeout(say, SILENCE_MS).unref();
  }

  /** Shows on a terminal how much of some long work is done, until the command writes something. */
  showProgress(what: string, done: number, total: number): void {
    const nowMs = Date.now();
    if (!this.#showsWork || (nowMs - this.#progressMs < STEP_MS && done < total)) return;
    this.#progressMs = nowMs;
    clearTimeout(this.#silence);
    this.#isWorkShown = true;
    this.#streams.stderr.write(`${CLEAR_LINE}${what} ${bar(done, total)}`);
  }

  #endSilence(): void {
    clearTimeout(this.#silence);
    if (this.#isWorkShown) this.#streams.stderr.write(CLEAR_LINE);
    this.#isWorkShown = false;
  }

  /** Asks the user a question; any answer but `y` or `yes` means no. */
  async confirm(question: string): Promise<boolean> {
    return /^y(es)?$/i.test(await this.ask(`${question} [y/N]`));
  }

  /** Asks the user a question and returns the answer; empty if the input ends before one. */
  async ask(question: string): Promise<string> {
    this.#endSilence();
    const { createInterface } = await import('node:readline/promises');
    const { stdin: input, stderr: output } = this.#streams;
    const reader = createInterface({ input, output });
    const ended = once(reader, 'close').then(() => '');
    try {
      return (await Promise.race([reader.question(`${question} `), ended])).trim();
    } finally {
      reader.close();
    }
  }
}

/** Formats a progress bar: `[########----------------] 33 %`. */
function bar(done: number, total: number): string {
  const part = total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
  const full = Math.floor(part * BAR_CHARS);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_CHARS - full)}] ${Math.floor(part * 100)} %`;
}

/**
 * True if output is coloured: only on a terminal, and not if the user has switched colours off
 * (https://no-color.org).
 */
function isColourful(stdout: Output, env: Readonly<Record<string, string | undefined>>): boolean {
  return stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}

/** The height assumed for a terminal that does not report its own. */
const ROWS = 24;
/** The exit code of a shell that finds no such command. */
const NOT_FOUND = 127;

/** The user's pager. */
interface Pager {
  /** A command line for the shell, as in git: `less -S`. */
  readonly command: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Shows a text in a pager, and returns its exit code when the user has left it. */
function runPager({ command, env: given }: Pager, text: string): Promise<number | null> {
  // The default options of less, unless the user has set others: show colours, do not switch to a second screen,
  // and quit if everything fits on one screen.
  const env = { LESS: 'FRX', ...given };
  // Ignore Ctrl-C, which the terminal sends to the pager too. If this process ended, the pager
  // would go on reading the terminal together with the user's shell.
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  const ended = new Promise<number | null>((resolve) => {
    const child = spawn(command, { shell: true, env, stdio: ['pipe', 'inherit', 'ignore'] });
    child.on('error', () => resolve(NOT_FOUND));
    child.on('close', resolve);
    // Ignore write errors: the user may leave the pager before everything is written.
    child.stdin.on('error', () => {});
    child.stdin.end(text);
  });
  return ended.finally(() => process.off('SIGINT', ignore));
}
