import { Fault } from '../model/fault.ts';
import { isRecord } from '../model/record.ts';
import type { FormatName } from '../model/transcript.ts';
import type { HistoryOptions } from './history-sighting.ts';

export interface HistoryIndexOptions extends HistoryOptions {
  /** Default: told from the first records. */
  readonly format?: FormatName | undefined;
  /** What `hasFileBeenRead` counts: `all`, a completed write too (default), or `reads` alone. */
  readonly counts?: 'all' | 'reads' | undefined;
}

const KNOWN: Readonly<Record<keyof HistoryIndexOptions, true>> = {
  cwd: true,
  root: true,
  paths: true,
  format: true,
  counts: true,
};

/** Throws MISUSE for what are no options: a misspelt one that is ignored gives another answer without a word. */
export function checkHistoryOptions(options: unknown): void {
  if (!isRecord(options)) throw new Fault('MISUSE', 'the options of a history must be an object');
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(KNOWN, name))
      throw new Fault(
        'MISUSE',
        `there is no option ${JSON.stringify(name)}; there are ${Object.keys(KNOWN).join(', ')}`,
      );
    if (value !== undefined && typeof value !== 'string')
      throw new Fault('MISUSE', `${name} must be a string`);
  }
}
