/** Words that mean themselves to every shell, outside of quotes. */
const PLAIN = /[A-Za-z0-9_./@%+=:,-]/;
const ALL_PLAIN = /^[A-Za-z0-9_./@%+=:,-]+(?: [A-Za-z0-9_./@%+=:,-]+)*$/;
/** An expression that repeats a group runs out of stack on millions of characters. */
const MAX_PLAIN = 4096;

/**
 * The words of one simple command, or undefined as soon as anything stands in it that a shell might expand, redirect,
 * join or run. Deliberately knows less than a shell: what it does not know is not certain.
 */
export function simpleWords(command: string): readonly string[] | undefined {
  // Most are nothing but such words with a space between them.
  if (command.length <= MAX_PLAIN && ALL_PLAIN.test(command)) return command.split(' ');
  const words: string[] = [];
  let at = 0;
  while (at < command.length) {
    const character = command.charAt(at);
    if (character === ' ' || character === '\t') {
      at += 1;
      continue;
    }
    const word = readWord(command, at);
    if (word === undefined) return undefined;
    words.push(word.text);
    at = word.end;
  }
  return words;
}

interface Word {
  readonly text: string;
  readonly end: number;
}

function readWord(command: string, start: number): Word | undefined {
  let text = '';
  let at = start;
  while (at < command.length) {
    const character = command.charAt(at);
    if (character === ' ' || character === '\t') break;
    const piece = character === "'" || character === '"' ? readQuoted(command, at) : readPlain(command, at);
    if (piece === undefined) return undefined;
    text += piece.text;
    at = piece.end;
  }
  return { text, end: at };
}

function readPlain(command: string, at: number): Word | undefined {
  const character = command.charAt(at);
  return PLAIN.test(character) ? { text: character, end: at + 1 } : undefined;
}

function readQuoted(command: string, at: number): Word | undefined {
  const quote = command.charAt(at);
  const end = command.indexOf(quote, at + 1);
  if (end === -1) return undefined;
  const text = command.slice(at + 1, end);
  // Inside double quotes these still mean something; a newline in a name is legal and never meant.
  const hazards = quote === '"' ? /[$`\\!\n\r\0]/ : /[\n\r\0]/;
  return hazards.test(text) ? undefined : { text, end: end + 1 };
}
