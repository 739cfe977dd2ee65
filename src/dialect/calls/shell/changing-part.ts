import { isReader, onlyReads } from './reading.ts';
import type { ShellCommand } from './shell-command.ts';
import type { ShellStep, WalkedLine } from './walk.ts';
import type { Words } from './words.ts';

/** Programs that are no shell builtins, so that later commands of the line mean the same after them. */
const EXTERNAL = new Set(
  'biome bun bunx cargo cmake deno docker dotnet eslint gh git go gradle jest make mkdir mvn mypy node npm npx pip pip3 pnpm poetry prettier pytest python python3 rm ruby ruff rustc sleep touch tsc tsx uv uvx vitest yarn'.split(
    ' ',
  ),
);

/** Programs after which later commands of the line may mean something else. */
const CHANGES_SHELL = new Set([':', 'export', 'printf', 'read']);

/** Commands that change no file, but may change what later commands mean. */
const SETS = new Set([':', 'export']);

function keepsNames(command: ShellCommand): boolean {
  return !SETS.has(nameOf(command.words)) && onlyReads(command, 'reads');
}

function nameOf([program = '']: Words): string {
  return program.split('/').at(-1) ?? '';
}

/**
 * The part of a line that may change files: the line without the steps that only read, because what
 * those name is not changed. Undefined for the whole line: a step could get a name from another one.
 */
export function changingPart(
  line: string,
  walked: WalkedLine,
): { text: string; walked: WalkedLine } | undefined {
  const { steps, commands, texts } = walked;
  const isReading = commands.length > 0 && commands.every(keepsNames);
  const effects = steps.map((step, at) =>
    isReading ? 'none' : effectOf(step, commands.filter(within(step, steps[at + 1]))),
  );
  const unknown = effects.indexOf('unknown');
  const known = unknown === -1 ? steps : steps.slice(0, unknown);
  const kept = known.filter((_step, at) => effects[at] !== 'none');
  const rest = steps[unknown];
  const text = [...kept.map((step) => step.text), ...(rest === undefined ? [] : [line.slice(rest.at)])].join(
    '\n',
  );
  // A variable can hold a name from another step (`ls FILE; rm $_`), and a glob can match that name.
  if (!isReading && (text === '' || /[$`*?[{]/.test(text))) return undefined;
  const parts = kept.map((step) => within(step, steps[steps.indexOf(step) + 1]));
  const isKept = (each: { readonly at: number }): boolean =>
    parts.some((part) => part(each)) || (rest !== undefined && each.at >= rest.at);
  return {
    text,
    walked: { ...walked, steps: [], commands: commands.filter(isKept), texts: texts.filter(isKept) },
  };
}

/** Tests whether a command or word belongs to a step. */
function within(step: ShellStep, next: ShellStep | undefined): (each: { readonly at: number }) => boolean {
  const end = next?.at ?? Number.POSITIVE_INFINITY;
  return ({ at }) => at >= step.at && at < end;
}

/**
 * The effect of a step on the steps after it. `none`: it only reads. `own`: it may change files,
 * or the folder in which later steps run. `unknown`: it may also change what later commands mean.
 */
function effectOf(
  { text, isSimple }: ShellStep,
  commands: readonly ShellCommand[],
): 'none' | 'own' | 'unknown' {
  const names = commands.map(({ words }) => nameOf(words));
  if (!isSimple || names.some((name) => CHANGES_SHELL.has(name))) return 'unknown';
  if (commands.every(keepsNames)) return names.includes('cd') ? 'own' : 'none';
  // The text of a here-document is not part of the step's own text.
  if (text.includes('<<')) return 'unknown';
  return names.every((name) => EXTERNAL.has(name) || isReader(name)) ? 'own' : 'unknown';
}
