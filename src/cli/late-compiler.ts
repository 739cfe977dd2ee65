import { setFlagsFromString } from 'node:v8';

/** Calls that are answered before V8 compiles functions sooner. Earlier, compiling would cost more than it saves. */
const CALLS_BEFORE_COMPILING = 100;
/** V8's flag for the amount of code that a function runs before it is optimised: our value, and the default. */
const [SOON, DEFAULT] = ['--interrupt-budget=10000', '--interrupt-budget=67584'];

/**
 * Makes V8 optimise functions sooner once a server has answered many calls: with the default, a server answers more
 * than a thousand before it is fast. Later versions of V8 than that of Node 20 have a quick compiler in between.
 */
export class LateCompiler {
  #calls = 0;

  count(): void {
    this.#calls += 1;
    if (this.#calls === CALLS_BEFORE_COMPILING) setBudget(SOON);
  }

  /** Sets the default again: V8 would reject compiled code that was kept under another flag. */
  reset(): void {
    if (this.#calls >= CALLS_BEFORE_COMPILING) setBudget(DEFAULT);
  }
}

function setBudget(flag: string): void {
  if (process.versions.v8.startsWith('11.')) setFlagsFromString(flag);
}
