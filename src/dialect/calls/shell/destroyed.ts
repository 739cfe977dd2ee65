import { fileIn, perlFiles, sedFiles } from './effects.ts';
import { onlyPrints } from './reading.ts';
import type { ShellCommand } from './shell-command.ts';
import { type Glob, textOfValue, type Value } from './values.ts';
import { inFolder, programOf, split } from './words.ts';

/** Files whose bytes a command destroys. Which ones these are may depend on the disk. */
export interface Destroyed {
  /** False if the command may not run, for example because it is in a condition. */
  readonly certain: boolean;
  /** `edit`: a change in place, which leaves a part of the bytes. */
  readonly how: 'remove' | 'replace' | 'edit';
  readonly files: NamedFiles;
  /** True if git's index loses the content of the files too. */
  readonly unstages?: true;
  /** True if a folder is removed with everything in it. */
  readonly whole?: true;
}

/** The names of files. Paths are absolute, or relative to the folder where relative paths of the line start. */
export type NamedFiles =
  /** `inside`: if the path is a folder, the name of the file in it. */
  | { readonly path: string; readonly inside?: string | undefined }
  | { readonly glob: Glob; readonly folder: string }
  /** The names that a program prints. The program changes nothing. */
  | Listing;

export interface Listing {
  readonly program: readonly string[];
  /** The folder in which the program runs. */
  readonly folder: string;
  /** The folder where the printed names start. */
  readonly base: string;
  /** Matches the end of a name. */
  readonly ends: 'NUL' | 'line' | 'space';
  /** A text that the program may print before a name. */
  readonly before?: string;
}

type Values = readonly Value[];
type Located = ShellCommand & { readonly folder: string };
type Found = readonly Omit<Destroyed, 'certain'>[];
type Rule = (args: Values, command: Located) => Found;

/**
 * The files that a command removes or replaces: by `rm`, `unlink`, `shred`, `git rm -f`, `find
 * -delete`, `truncate`, `dd`, `ln -f`, `install`, `sort -o`, `curl -o`, `wget -O`, `tar -x`, `unzip
 * -o`, `rsync`, by `sed -i` and `perl -pi` with a glob, and by these after `find -exec` or `xargs`. Leaves out
 * writes that `writesOf` lists.
 */
export function destroyedBy(command: ShellCommand): readonly Destroyed[] {
  const { certain, folder, values } = command;
  return folder === undefined
    ? []
    : ruled(values, { ...command, folder }).map((each) => ({ certain, ...each }));
}

function ruled([name, ...args]: Values, command: Located): Found {
  return RULES.get(programOf(textOfValue(name)))?.(args, command) ?? [];
}

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['rm', removed],
  ['unlink', operandsAre('remove', /^$/)],
  ['shred', operandsAre('remove', /^(?:-\w*[ns]|--(?:iterations|size))$/)],
  ['truncate', truncated],
  ['dd', copied],
  ['ln', linked],
  ['install', installed],
  ['sort', outputIs(/^(?:-\w*o|--output(?:=|$))(.*)$/, /^(?:-\w*[oktST]|--(?:output|key|buffer-size))$/)],
  [
    'curl',
    outputIs(
      /^(?:-[a-zA-Z]*o|--output(?:=|$))(.*)$/,
      /^(?:-\w*[oHXdAbceFTu]|--(?:output|header|data\S*|request))$/,
    ),
  ],
  [
    'wget',
    outputIs(/^(?:-\w*O|--output-document(?:=|$))(.*)$/, /^(?:-\w*[OPoU]|--(?:output-document|header))$/),
  ],
  ['sed', (args, { folder }) => filesAt('edit', sedFiles(args).filter(isOpen), folder)],
  ['gsed', (args, { folder }) => filesAt('edit', sedFiles(args).filter(isOpen), folder)],
  ['perl', (args, { folder }) => filesAt('edit', perlFiles(args).filter(isOpen), folder)],
  ['git', removedByGit],
  ['find', foundFiles],
  ['xargs', fedFiles],
  ['tar', extracted],
  ['unzip', unzipped],
  ['rsync', synchronised],
]);

/** Stands for the names that `find -exec` and `xargs` put into a command. */
export const EACH = '{}';

function isOpen(file: Value): boolean {
  return file === EACH || (typeof file === 'object' && file.text === undefined);
}

function filesAt(how: Destroyed['how'], files: Values, folder: string): Found {
  return files.flatMap((file): Found => {
    if (typeof file === 'object') return [{ how, files: { glob: file, folder } }];
    const path = file === undefined || file === '' ? undefined : fileIn(folder, file);
    return path === undefined ? [] : [{ how, files: { path: file === EACH ? EACH : path } }];
  });
}

function operandsAre(how: Destroyed['how'], valued: RegExp): Rule {
  return (args, { folder }) => filesAt(how, split(args, valued).operands, folder);
}

function removed(args: Values, { folder }: Located): Found {
  const { options, operands } = split(args, /^$/);
  const isWhole = options.some((option) => /^(?:-\w*[rR]|--recursive$)/.test(option));
  return filesAt('remove', operands, folder).map((each) => (isWhole ? { ...each, whole: true } : each));
}

/** The values of an option. The group of `name` matches a value in the same word. */
function valuesOf(args: Values, name: RegExp, valued: RegExp): Values {
  const { options, values } = split(args, valued);
  return options.flatMap((option, at): Values => {
    const attached = name.exec(option)?.[1];
    return attached === undefined ? [] : [attached === '' ? values[at] : attached];
  });
}

function outputIs(name: RegExp, valued: RegExp): Rule {
  return (args, { folder }) =>
    filesAt(
      'replace',
      valuesOf(args, name, valued).filter((file) => file !== '-'),
      folder,
    );
}

const TRUNCATE_VALUES = /^(?:-\w*[rs]|--(?:reference|size))$/;

function truncated(args: Values, { folder }: Located): Found {
  const sizes = valuesOf(args, /^(?:-\w*s|--size(?:=|$))(.*)$/, TRUNCATE_VALUES);
  // A size that begins with `+` or `>` never makes a file shorter.
  if (sizes.some((size) => /^[+>]/.test(textOfValue(size) ?? ''))) return [];
  return filesAt('replace', split(args, TRUNCATE_VALUES).operands, folder);
}

function copied(args: Values, { folder }: Located): Found {
  const texts = args.flatMap((arg) => textOfValue(arg) ?? []);
  const how = texts.some((text) => /^conv=.*\bnotrunc\b/.test(text)) ? 'edit' : 'replace';
  return filesAt(
    how,
    texts.flatMap((text) => /^of=(.+)$/.exec(text)?.[1] ?? []),
    folder,
  );
}

function linked(args: Values, { folder }: Located): Found {
  const { options, operands } = split(args, /^(?:-\w*[tS]|--(?:target-directory|suffix))$/);
  return options.some((option) => /^(?:-\w*f|--force$)/.test(option)) ? ontoLast(operands, folder) : [];
}

function installed(args: Values, { folder }: Located): Found {
  const { options, operands } = split(args, /^(?:-\w*[gmotS]|--(?:group|mode|owner|suffix))$/);
  return options.some((option) => /^(?:-\w*[dt]|--(?:directory|target))/.test(option))
    ? []
    : ontoLast(operands, folder);
}

/** The files that a command puts to its last operand, or into the folder that it names. */
function ontoLast(operands: Values, folder: string): Found {
  const [target, ...sources] = operands.toReversed();
  const path = typeof target === 'string' ? fileIn(folder, target) : undefined;
  if (path === undefined) return [];
  return sources.flatMap((source) => {
    const inside = textOfValue(source)?.replace(/\/+$/, '').replace(/^.*\//, '');
    return inside === undefined ? [] : [{ how: 'replace' as const, files: { path, inside } }];
  });
}

/** Without `-f`, git removes only files that the last commit has. */
function removedByGit(args: Values, { folder: start }: Located): Found {
  const isThere = args[0] === '-C' && typeof args[1] === 'string';
  const folder = isThere ? (inFolder(start, String(args[1])) ?? start) : start;
  const [verb, ...rest] = isThere ? args.slice(2) : args;
  const { options, operands } = split(rest, /^$/);
  if (verb !== 'rm' || options.includes('--cached')) return [];
  if (!options.some((option) => /^(?:-\w*f|--force$)/.test(option))) return [];
  return filesAt('remove', operands, folder).map((each) => ({ ...each, unstages: true }));
}

const ENDS_EXEC = new Set<Value>([';', '+']);
/** Tests and actions of `find` that write files or run programs. */
const FIND_WRITES = /^-(?:exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls)$/;

const FIND_LOGIC = /^(?:!|,|-not|-o|-or)$/;

/** The files that `find` deletes, or passes to a command that destroys them. Finds them by the same tests. */
function foundFiles(args: Values, command: Located): Found {
  const words = args.flatMap((arg) => textOfValue(arg) ?? []);
  if (words.length < args.length) return [];
  const at = words.findIndex((word) => word === '-delete' || /^-exec(?:dir)?$/.test(word));
  const length = words[at] === '-delete' ? 1 : words.slice(at).findIndex((word) => ENDS_EXEC.has(word)) + 1;
  const tests = words.filter(
    (word, place) => (place < at || place >= at + length) && !/^-print0?$/.test(word),
  );
  if (at === -1 || length === 0 || tests.some((word) => FIND_WRITES.test(word) || word === '-delete'))
    return [];
  // Files and folders without content.
  if (tests.includes('-empty') && !tests.some((word) => FIND_LOGIC.test(word))) return [];
  const listed = tests.toSpliced(
    words.slice(0, at).filter((word) => !/^-print0?$/.test(word)).length,
    0,
    '-print0',
  );
  const { folder } = command;
  const files: Listing = { program: ['find', ...listed], folder, base: folder, ends: 'NUL' };
  const inner = words.slice(at + 1, at + length - 1);
  return forEach(length === 1 ? ['rm', EACH] : inner, files, command);
}

/** The files that a command destroys which gets their names from `find` or `xargs`. */
function forEach(values: Values, files: Listing, command: Located): Found {
  return ruled(values, { ...command, fed: undefined }).map((each) =>
    'path' in each.files && each.files.path === EACH ? { ...each, files } : each,
  );
}

const XARGS_VALUES = /^(?:-[adEILnPs]|--(?:arg-file|delimiter|max-\w+|replace))$/;

/** Matches a text that may run other programs than its words name: by a variable such as PATH, or by `sudo`. */
const STARTS_OTHERS =
  /(?:^|[\s;&|(])\w+=|\b(?:builtin|command|env|exec|flock|ionice|nice|nohup|setsid|stdbuf|sudo|time|timeout)\b/;

function fedFiles(_args: Values, command: Located): Found {
  const fed = fedWords(command);
  return fed === undefined ? [] : forEach(fed.inner, fed.names, command);
}

/**
 * The command that `xargs` runs, with `EACH` in place of the names that it gets, and where these
 * come from. Undefined if the commands before it do not only print.
 */
export function fedWords({
  values: [, ...args],
  fed,
  folder,
}: ShellCommand): { readonly inner: Values; readonly names: Listing } | undefined {
  if (folder === undefined || fed === undefined) return undefined;
  if (STARTS_OTHERS.test(fed.text) || !fed.commands.every(onlyPrints)) return undefined;
  const first = args.findIndex(
    (arg, at) => !isOption(arg) && !XARGS_VALUES.test(textOfValue(args[at - 1]) ?? ''),
  );
  const options = args.slice(0, first).flatMap((arg) => textOfValue(arg) ?? []);
  const values = first === -1 ? [] : args.slice(first);
  const replaced = valuesOf(options, /^(?:-I|--replace(?:=|$))(.*)$/, XARGS_VALUES)[0];
  const inner =
    replaced === undefined ? [...values, EACH] : values.map((value) => (value === replaced ? EACH : value));
  const isNul = options.some((option) => /^(?:-\w*0|--null)$/.test(option));
  const isLine = replaced !== undefined || options.some((option) => /^(?:-d|--delim)/.test(option));
  const ends = isNul ? 'NUL' : isLine ? 'line' : 'space';
  return { inner, names: { program: ['sh', '-c', fed.text], folder, base: folder, ends } };
}

function isOption(arg: Value): boolean {
  return typeof arg === 'string' && arg.startsWith('-');
}

/** The files of an archive, which replace those in the folder. Only for calls with the usual options. */
function extracted(given: Values, { folder }: Located): Found {
  // The first word of `tar xzf FILE` may lack its hyphen.
  const args = [
    /^-/.test(textOfValue(given[0]) ?? '-') ? given[0] : `-${textOfValue(given[0])}`,
    ...given.slice(1),
  ];
  const valued = /^(?:-\w*[fC]|--(?:file|directory))$/;
  const { options, operands } = split(args, valued);
  const isUsual = options.every((option) =>
    /^(?:-[xvzjJpf]+C?|-C|--(?:extract|gzip|file|directory|verbose).*)$/.test(option),
  );
  const extracts = options.some((option) => /^-\w*x|^--extract/.test(option));
  const [file] = valuesOf(args, /^(?:-\w*f|--file(?:=|$))(.*)$/, valued);
  const [into] = valuesOf(args, /^(?:-C|--directory(?:=|$))(.*)$/, valued);
  return isUsual && extracts ? archived(['tar', '-tf'], { file, into, folder, only: operands }) : [];
}

function unzipped(args: Values, { folder }: Located): Found {
  const { options, operands } = split(args, /^-d$/);
  const [file, ...only] = operands;
  const [into] = valuesOf(args, /^-d(.*)$/, /^-d$/);
  return options.some((option) => /^-[a-z]*o/.test(option))
    ? archived(['unzip', '-Z1'], { file, into, folder, only })
    : [];
}

function archived(
  program: readonly string[],
  { file, into, folder, only }: { file: Value; into: Value; folder: string; only: Values },
): Found {
  const base = into === undefined ? folder : typeof into === 'string' ? inFolder(folder, into) : undefined;
  const names = only.flatMap((name) => textOfValue(name) ?? []);
  // For tar, a colon names another machine.
  if (typeof file !== 'string' || /^-|:/.test(file) || base === undefined || names.length < only.length)
    return [];
  return [{ how: 'replace', files: { program: [...program, file, ...names], folder, base, ends: 'line' } }];
}

const RSYNC_VALUES =
  /^(?:-[a-zA-Z]*[efBTM@]|--(?:rsh|filter|exclude|include|exclude-from|include-from|files-from|temp-dir|compare-dest|copy-dest|link-dest|suffix|backup-dir|max-size|min-size|max-delete|partial-dir|chmod|chown|bwlimit|log-file|port|password-file))$/;
/** Options with which `rsync` keeps what it replaces, or writes other files even in a dry run. */
const RSYNC_OTHERWISE =
  /^(?:-[a-zA-Z]*[nb]|--(?:dry-run|backup|ignore-existing|log-file|(?:only-)?write-batch|read-batch))/;
/** Options of `rsync` that change only what it prints. */
const RSYNC_PRINTS =
  /^--(?:progress|stats|verbose|quiet|itemize-changes|human-readable|info=.*|out-format=.*)$/;

/** The files that `rsync` deletes or replaces on this machine. It lists them itself. */
function synchronised(args: Values, { folder }: Located): Found {
  const words = args.flatMap((arg) => textOfValue(arg) ?? []);
  const { options, operands } = split(words, RSYNC_VALUES);
  const destination = operands.at(-1);
  const isElsewhere = operands.some((operand) => /^[^/]*:/.test(operand ?? ''));
  if (words.length < args.length || operands.length < 2 || destination === undefined || isElsewhere)
    return [];
  if (options.some((option) => RSYNC_OTHERWISE.test(option))) return [];
  const base = inFolder(folder, destination);
  if (base === undefined) return [];
  const kept = words
    .filter((word) => !RSYNC_PRINTS.test(word))
    .map((word) => (/^-[a-zA-Z]+$/.test(word) ? word.replace(/[vqPih]/g, '') : word))
    .filter((word) => word !== '-');
  const program = ['rsync', '--dry-run', '--out-format=%n', ...kept];
  const files = { program, folder, base, ends: 'line', before: 'deleting ' } as const;
  return [
    { how: 'remove', files },
    // A single file may be put in the place of another.
    { how: 'replace', files: { path: base } },
  ];
}
