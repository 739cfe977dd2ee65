import { setFlagsFromString } from 'node:v8';

/** V8 optimises sooner after this many calls. Before that, compiling would cost more than it saves. */
const CALLS_BEFORE_COMPILING = 200;
/** V8's flag for the amount of code that a function runs before it is optimised: our value, and the default. */
const [SOON, DEFAULT] = ['--interrupt-budget=10000', '--interrupt-budget=67584'];

/**
 * Makes V8 optimise functions sooner after a server has answered many calls. With the default, a server answers more
 * than a thousand calls before it is fast. Only for the V8 of Node 20: later versions have another, quicker compiler.
 */
export class LateCompiler {
  #calls = 0;

  count(): void {
    this.#calls += 1;
    if (this.#calls === CALLS_BEFORE_COMPILING) setBudget(SOON);
  }

  /** Restores the default, because V8 would reject compiled code that was kept under another flag. */
  reset(): void {
    if (this.#calls >= CALLS_BEFORE_COMPILING) setBudget(DEFAULT);
  }
}

function setBudget(flag: string): void {
  if (process.versions.v8.startsWith('11.')) setFlagsFromString(flag);
}
