import { parseJson } from '../json-value.ts';
import { endOfString, standsAt } from './byte-match.ts';
import { TIME_LENGTH } from './time-bytes.ts';

const UUID = Buffer.from('"type":"assistant","uuid":"');
const UUID_LENGTH = 36;
const TIME = Buffer.from('","timestamp":"');
/** From the first byte of a name to where what follows its time may begin. */
const NAMED_LENGTH = UUID_LENGTH + TIME.length + TIME_LENGTH;
const CWD = Buffer.from(',"cwd":"');

/**
 * How the lines of a model's messages end: a name, a time, and then the same for many lines on end, working directory
 * included. What was found in one line is not looked for in the next as long as these bytes are the same.
 */
export class CallEnd {
  /** Working directory of the line looked at last. */
  cwd: string | undefined;
  /** How many bytes from the name to the end of the line. */
  #length = 0;
  /** What follows the time, up to the end of the working directory. */
  #middle: Buffer = Buffer.alloc(0);

  /** Where the name of a message stands behind its content; -1 if that cannot be told. */
  nameIn(bytes: Buffer, closed: number, end: number): number {
    const known = end - this.#length;
    if (known > closed && this.#isSame(bytes, known)) return known;
    const uuid = this.#learn(bytes.subarray(closed, end));
    return uuid === -1 ? -1 : closed + uuid;
  }

  #learn(line: Buffer): number {
    const named = line.indexOf(UUID);
    const uuid = named + UUID.length;
    if (named === -1 || !standsAt(line, TIME, uuid + UUID_LENGTH)) return -1;
    const { cwd, end } = directoryIn(line, uuid);
    this.cwd = cwd;
    this.#length = line.length - uuid;
    // A copy: the bytes of the line may be overwritten.
    this.#middle = Buffer.from(line.subarray(uuid + NAMED_LENGTH, end));
    return uuid;
  }

  #isSame(line: Buffer, uuid: number): boolean {
    return (
      standsAt(line, UUID, uuid - UUID.length) &&
      standsAt(line, TIME, uuid + UUID_LENGTH) &&
      standsAt(line, this.#middle, uuid + NAMED_LENGTH)
    );
  }
}

/** The working directory in a line, and how far it had to be looked at. */
function directoryIn(line: Buffer, from: number): { readonly cwd: string | undefined; readonly end: number } {
  const at = line.indexOf(CWD, from);
  const start = at + CWD.length;
  const closed = at === -1 ? -1 : endOfString(line, start, line.length);
  if (closed === -1) return { cwd: undefined, end: line.length };
  const cwd = parseJson(line.toString('utf8', start - 1, closed + 1));
  return { cwd: typeof cwd === 'string' ? cwd : undefined, end: closed + 1 };
}
