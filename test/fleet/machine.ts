import { lookfirst } from '../support/command-line.ts';
import type { Scratch } from '../support/tree.ts';

/** A machine of a fleet: its folders, and the store that it shares with the other machines. */
export interface Machine extends Scratch {
  readonly store: string;
}

/** Runs the command line on one machine. Returns all that it prints. */
export async function printedOn({ store, ...places }: Machine, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await lookfirst(places, args, { env: { LOOKFIRST_STORE: store } });
  return stdout + stderr;
}
