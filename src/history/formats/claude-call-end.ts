import { parseJson } from '../json-value.ts';
import { standsAt } from './byte-match.ts';
import { TIME_LENGTH } from './time-bytes.ts';

const UUID = Buffer.from('"type":"assistant","uuid":"');
const UUID_LENGTH = 36;
const TIME = Buffer.from('","timestamp":"');
/** From the first byte of a name to where what follows its time may begin. */
const NAMED_LENGTH = UUID_LENGTH + TIME.length + TIME_LENGTH;
const CWD = Buffer.from(',"cwd":"');
const CWD_TEXT = /^"(?:[^"\\]|\\.)*"/;
const QUOTE = 34;
const BACKSLASH = 92;

/**
 * How the lines of a model's messages end: a name, a time, and then the same for many lines on end, working directory
 * included. What was found in one line is not looked for in the next as long as these bytes are the same.
 */
export class CallEnd {
  /** Working directory of the line looked at last. */
  cwd: string | undefined;
  /** What follows the time in the line looked at last. */
  #tail: Buffer = Buffer.alloc(0);

  /** Where the name of a message stands behind its content; -1 if that cannot be told. */
  nameIn(line: Buffer, closed: number): number {
    const known = line.length - this.#tail.length - NAMED_LENGTH;
    if (this.#tail.length > 0 && known > closed && this.#isSame(line, known)) return known;
    const named = line.indexOf(UUID, closed);
    const uuid = named + UUID.length;
    if (named === -1 || !standsAt(line, TIME, uuid + UUID_LENGTH)) return -1;
    this.cwd = directoryIn(line, uuid);
    // A copy: the bytes of the line may be overwritten.
    this.#tail = Buffer.from(line.subarray(uuid + NAMED_LENGTH));
    return uuid;
  }

  #isSame(line: Buffer, uuid: number): boolean {
    return (
      standsAt(line, UUID, uuid - UUID.length) &&
      standsAt(line, TIME, uuid + UUID_LENGTH) &&
      standsAt(line, this.#tail, uuid + NAMED_LENGTH)
    );
  }
}

function directoryIn(line: Buffer, from: number): string | undefined {
  const at = line.indexOf(CWD, from);
  if (at === -1) return undefined;
  const start = at + CWD.length;
  const end = line.indexOf(QUOTE, start);
  const escaped = line.indexOf(BACKSLASH, start);
  if (end !== -1 && (escaped === -1 || escaped > end)) return line.toString('utf8', start, end);
  const text = CWD_TEXT.exec(line.toString('utf8', start - 1))?.[0];
  const cwd = text === undefined ? undefined : parseJson(text);
  return typeof cwd === 'string' ? cwd : undefined;
}
