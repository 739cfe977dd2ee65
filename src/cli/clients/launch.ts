import { resolve } from 'node:path';
import { nearestName } from '../../model/nearest-name.ts';

/** The command line with which a client starts a server. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that the server's entry in the client's configuration file sets. */
  readonly env?: Readonly<Record<string, string>>;
  /** Variables that this entry only names. The client passes its own values, so they are not in the file. */
  readonly forwards?: readonly string[];
}

const PACKAGE = 'lookfirst';
/** On Windows npx is a script, which clients cannot start without a shell. */
const SHELL = ['cmd', '/c'];
const RUN = ['npx', '-y', PACKAGE];

/**
 * The command that starts this program: npx with the published package, or the full paths of an
 * executable and of the program that it runs.
 */
export type Starter = 'npx' | readonly string[];

/**
 * The command that starts this program, if the user chooses none. For a package that npm installed,
 * it uses npx. For a checkout, which npx does not find, it consists of the full paths of Node and
 * the program. `self`: these two paths of the running program.
 */
export function usualStarter(self: readonly string[]): Starter {
  const [, program = ''] = self;
  const isInstalled = /[\\/]node_modules[\\/](?:lookfirst[\\/]|\.bin[\\/]lookfirst$)/.test(program);
  return isInstalled ? 'npx' : self;
}

/** The command line that starts our server on a folder. */
export function serveLaunch(dir: string, platform: NodeJS.Platform, starter: Starter = 'npx'): Launch {
  return launch(['serve', dir], platform, starter);
}

/** The words that put our proxy in front of a server's command. */
export function proxyLaunch(dir: string, platform: NodeJS.Platform, starter: Starter = 'npx'): Launch {
  return launch(['proxy', '--root', dir, '--'], platform, starter);
}

/**
 * The number of words at the beginning of a command line that start our proxy, including `--`; 0 if
 * they start something else.
 */
export function proxyWords(words: readonly string[]): number {
  const own = withoutShell(words);
  const end = own[starterWords(own)] === 'proxy' ? words.indexOf('--') : -1;
  // Without a command after `--` there is nothing to unwrap.
  return end >= 0 && end < words.length - 1 ? end + 1 : 0;
}

/**
 * The folder that a command line made by `serveLaunch` serves; undefined for any other command
 * line.
 */
export function servedFolder(words: readonly string[]): string | undefined {
  const own = withoutShell(words);
  const at = starterWords(own);
  return own[at] === 'serve' && own.length === at + 2 ? own.at(-1) : undefined;
}

/** The command line of our server, changed to serve only `folder`. Its flags stay. */
export function servedOn(words: readonly string[], folder: string): readonly string[] {
  const serve = words.indexOf('serve');
  if (serve < 0) return words;
  const flagged = (index: number) =>
    /^--[\w-]+$/.test(words[index - 1] ?? '') && words[index - 1] !== '--read-only';
  const rest = words.slice(serve + 1);
  const flags = rest.filter((word, index) => word.startsWith('-') || flagged(serve + 1 + index));
  return [...words.slice(0, serve + 1), folder, ...flags];
}

/**
 * The command line of our proxy for another folder. Replaces the roots in the arguments of the
 * proxy and in those of the server behind it. `cwd`: the folder in which the client starts the
 * command.
 */
export function proxiedOn(words: readonly string[], folder: string, cwd: string): readonly string[] {
  const count = proxyWords(words);
  const isRoot = (index: number) => words[index - 1] === '--root';
  const own = words.slice(0, count);
  const roots = own.filter((_word, index) => isRoot(index)).map((root) => resolve(cwd, root));
  return words.map((word, index) => {
    if (index < count) return isRoot(index) ? folder : word;
    return index > count && roots.includes(resolve(cwd, word)) ? folder : word;
  });
}

/**
 * The number of words at the beginning of a command line that start this program, as `init` writes them; -1 if they
 * start another program.
 */
function starterWords(own: readonly string[]): number {
  if (beginsWith(own, RUN)) return RUN.length;
  const [node = '', program = ''] = own;
  const isOurs = /^node(?:\.exe)?$/.test(lastPart(node)) && /^lookfirst(?:\.js)?$/.test(lastPart(program));
  return isOurs ? 2 : -1;
}

/**
 * True if a command line starts this program, either directly or through a program such as npx or
 * node.
 */
export function startsUs(words: readonly string[]): boolean {
  const own = withoutShell(words);
  const starter = /^(?:npx|bunx|pnpx|node|bun)(?:\.exe|\.cmd)?$/.test(lastPart(own[0] ?? ''));
  const program = starter ? own.slice(1).find((word) => !word.startsWith('-')) : own[0];
  return /^lookfirst(?:@.*|\.js|\.cmd)?$/.test(lastPart(program ?? ''));
}

function withoutShell(words: readonly string[]): readonly string[] {
  return beginsWith(words, SHELL) ? words.slice(SHELL.length) : words;
}

function beginsWith(words: readonly string[], start: readonly string[]): boolean {
  return start.every((word, index) => words[index] === word);
}

function lastPart(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? '';
}

function launch(args: readonly string[], platform: NodeJS.Platform, starter: Starter): Launch {
  const npx = [...(platform === 'win32' ? SHELL : []), ...RUN];
  const [command = '', ...rest] = [...(starter === 'npx' ? npx : starter), ...args];
  return { command, args: rest };
}

/**
 * True if an entry with our name starts another program. Such an entry is not changed or removed.
 * An entry without a command counts as ours.
 */
export function startsAnother(entryText: string): boolean {
  return /\bcommand\b/.test(entryText) && !/lookfirst/i.test(entryText);
}

/**
 * The reason why an entry with this name cannot be updated; undefined if it can. `words`: the
 * entry's command line, if it has one.
 */
export function whyLeftAlone(
  name: string,
  { text: entryText, words }: { readonly text: string; readonly words: readonly string[] | undefined },
): string | undefined {
  if (startsAnother(entryText))
    return `it has another server called "${name}"; rename or remove that one first`;
  // Refuse an entry with an address: if a command were added to it, the client could use either of
  // the two.
  if (/\b(?:url|httpUrl)\b/.test(entryText))
    return `its server "${name}" is an address, not a command; remove it first with lookfirst remove`;
  if (words !== undefined && servedFolder(words) === undefined)
    return `its server "${name}" has arguments that the user added; change them there, or remove it first with lookfirst remove`;
  return undefined;
}

/** The reason why a proxy is of no use for this entry. */
export function needsNoProxy(name: string): string {
  return `"${name}" is Lookfirst itself, which needs no proxy in front of it`;
}

/** A hint for an unknown server name: the name that was probably meant, or the existing names. */
export function similarServer(name: string, names: readonly string[]): string {
  const others = names.filter((each) => each !== PACKAGE);
  if (others.length === 0) return '';
  const meant = nearestName(name, others);
  if (meant !== undefined) return `; the most similar name is "${meant}"`;
  return `; it has ${others.map((each) => `"${each}"`).join(', ')}`;
}
