/** How a client starts a server. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

const PACKAGE = 'lookfirst';
/** On Windows npx is a script, which clients cannot start without a shell. */
const SHELL = ['cmd', '/c'];
const RUN = ['npx', '-y', PACKAGE];

/** Starts our server on a folder. */
export function serveLaunch(dir: string, platform: NodeJS.Platform): Launch {
  return launch(['serve', dir], platform);
}

/** What stands before the command of a server that we are to watch. */
export function proxyLaunch(dir: string, platform: NodeJS.Platform): Launch {
  return launch(['proxy', '--root', dir, '--'], platform);
}

/** How many words of a command line are our proxy, up to and with `--`; 0 if it does not begin with it. */
export function proxyWords(words: readonly string[]): number {
  const end = beginsWith(withoutShell(words), [...RUN, 'proxy']) ? words.indexOf('--') : -1;
  // Without a command behind it there is nothing to go back to.
  return end >= 0 && end < words.length - 1 ? end + 1 : 0;
}

/** The folder, if a command line starts our server on one and says nothing else: what `serveLaunch` makes. */
export function servedFolder(words: readonly string[]): string | undefined {
  const own = withoutShell(words);
  return beginsWith(own, [...RUN, 'serve']) && own.length === RUN.length + 2 ? own.at(-1) : undefined;
}

/** Whether it starts this program, by any of the ways it can be started. */
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

function launch(args: readonly string[], platform: NodeJS.Platform): Launch {
  const [command = '', ...rest] = [...(platform === 'win32' ? SHELL : []), ...RUN, ...args];
  return { command, args: rest };
}
