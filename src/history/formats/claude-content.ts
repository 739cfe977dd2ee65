import { standsAt } from './byte-match.ts';
import type { Named } from './claude-name.ts';
import { keyAt } from './name-table.ts';

/** The text of a result as JSON writes it, and what stands behind it in the line. */
export interface SkimmedContent extends Named {
  readonly literal: Buffer;
  /** Where the record goes on after its time. */
  readonly after: number;
}

const CONTENT = Buffer.from('"content":"');
/** A quote inside the text is escaped, so this cannot stand in it. */
const CONTENT_END = Buffer.from('}]},"uuid":"');
const WELL = Buffer.from('","is_error":false');
const TIME = Buffer.from('","timestamp":"');
const UUID_LENGTH = 36;
const TIME_LENGTH = '2026-01-02T03:04:05.678Z'.length;
const QUOTE = 34;

/** The text in the rest of a result's line; undefined if the line is not exactly as expected. */
export function skimContent(line: Buffer): SkimmedContent | undefined {
  if (!standsAt(line, CONTENT, 0)) return undefined;
  const end = line.indexOf(CONTENT_END);
  if (end === -1) return undefined;
  const closed = standsAt(line, WELL, end - WELL.length) ? end - WELL.length : end - 1;
  const uuid = end + CONTENT_END.length;
  const time = uuid + UUID_LENGTH + TIME.length;
  const after = time + TIME_LENGTH + 1;
  if (line[closed] !== QUOTE || !standsAt(line, TIME, uuid + UUID_LENGTH) || line[after - 1] !== QUOTE)
    return undefined;
  return {
    literal: line.subarray(CONTENT.length, closed),
    uuid: line.toString('latin1', uuid, uuid + UUID_LENGTH),
    key: keyAt(line, uuid),
    timestamp: line.toString('latin1', time, time + TIME_LENGTH),
    after,
  };
}
