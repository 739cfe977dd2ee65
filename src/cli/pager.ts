import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/** The height assumed for a terminal that does not report its own. */
const ROWS = 24;
/** The exit code of a shell that finds no such command. */
const NOT_FOUND = 127;

export interface PagerOptions {
  /** A command line for the shell, as in git: `less -S`. */
  readonly command: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Collects an answer, and at its end shows it page by page if it is longer than the terminal is high. */
export class Pager {
  readonly #stdout: Writable & { readonly rows?: number };
  readonly #options: PagerOptions;
  #text = '';

  constructor(stdout: Writable & { readonly rows?: number }, options: PagerOptions) {
    this.#stdout = stdout;
    this.#options = options;
  }

  add(text: string): void {
    this.#text += text;
  }

  /**
   * Resolves when the user has left the pager. Without an installed pager, the answer is printed
   * directly.
   */
  async show(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    const isLong = text.split('\n').length > (this.#stdout.rows || ROWS);
    if (isLong && (await this.#run(text)) !== NOT_FOUND) return;
    this.#stdout.write(text);
  }

  #run(text: string): Promise<number | null> {
    const { command, env: given } = this.#options;
    // These options of less apply unless the user has set others: colours, and no second screen.
    const env = { LESS: 'FRX', ...given };
    return new Promise((resolve) => {
      const child = spawn(command, { shell: true, env, stdio: ['pipe', 'inherit', 'ignore'] });
      child.on('error', () => resolve(NOT_FOUND));
      child.on('close', resolve);
      // The user may leave before everything is written.
      child.stdin.on('error', () => {});
      child.stdin.end(text);
    });
  }
}
