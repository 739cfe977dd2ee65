import { setFlagsFromString } from 'node:v8';

/**
 * Lets the engine optimise a function after some dozens of calls instead of some thousands. A server answers a few
 * hundred calls in its life, each through the same few hundred functions: it would stay slow for most of it. To be called
 * once the start is over, for what runs only then is not worth optimising.
 */
export function optimiseEarly(): void {
  // Later engines have a quick compiler in between, and no such flag.
  if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=6000');
}
