import { Fault } from '../model/fault.ts';
import { isRecord } from '../model/record.ts';
import type { FormatName } from '../model/transcript.ts';
import type { HistoryOptions } from './history-sighting.ts';

export interface HistoryIndexOptions extends HistoryOptions {
  /** Default: detected from the first records. */
  readonly format?: FormatName | undefined;
  /** What `hasFileBeenRead` counts: `all` includes completed writes (default), `reads` only reads. */
  readonly counts?: 'all' | 'reads' | undefined;
}

const KNOWN: Readonly<Record<keyof HistoryIndexOptions, true>> = {
  cwd: true,
  root: true,
  paths: true,
  format: true,
  counts: true,
};

/** Throws MISUSE for invalid options. Ignoring a misspelt option would silently change the answer. */
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
