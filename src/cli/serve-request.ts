import { DIALECT_NAMES, type DialectName } from '../dialect/tool.ts';
import { PRESET_NAMES, type PresetName } from '../model/policy.ts';
import { isSessionId } from '../model/session-record.ts';
import { unknownChoice, unknownWord } from './words.ts';

const COLOURS = ['auto', 'always', 'never'] as const;

/** The parsed request of `lookfirst serve`. */
export interface ServeRequest {
  /**
   * The folders as typed. If empty, the server uses the client's roots, or the current folder if
   * the client names none.
   */
  readonly folders: readonly string[];
  readonly dialect: DialectName;
  readonly preset?: PresetName;
  readonly session?: string;
  readonly store?: string;
  readonly workspace?: string;
  readonly sharedWorkspace?: boolean;
  readonly policy?: string;
  readonly readOnly: boolean;
  /** The read-only folders as typed. */
  readonly readOnlyRoots?: readonly string[];
  readonly allowCommands: boolean;
  /** With HTTP: allow undo in the viewer even if several machines share the store. */
  readonly allowUndo: boolean;
  /** Serve HTTP instead of stdio, on this port or any free one. */
  readonly http?: { readonly port?: number };
  /** With HTTP: print what to paste into each client's configuration. */
  readonly showConfig: boolean;
  /** The value of `--color`: when faults are printed in colour. Default: on a terminal. */
  readonly color?: (typeof COLOURS)[number];
}

/** A usage error, or a request for help or the version. */
type ServeProblem = { readonly help: true } | { readonly version: true } | { readonly problem: string };

type Values = { -readonly [K in keyof Omit<ServeRequest, 'folders'>]?: ServeRequest[K] | undefined };
type Take = (values: Values, value: string) => string | undefined;

/** Parsers of the flags that have a value. Each returns a problem for an invalid value. */
const VALUED: Readonly<Record<string, Take>> = {
  '--dialect': (values, value) => {
    values.dialect = DIALECT_NAMES.find((name) => name === value);
    return values.dialect === undefined ? unknownChoice('--dialect', value, DIALECT_NAMES) : undefined;
  },
  '--preset': (values, value) => {
    values.preset = PRESET_NAMES.find((name) => name === value);
    return values.preset === undefined ? unknownChoice('--preset', value, PRESET_NAMES) : undefined;
  },
  '--session': (values, value) => {
    values.session = value;
    return isSessionId(value) ? undefined : '--session takes up to 200 printable characters';
  },
  '--read-only-root': (values, value) => {
    values.readOnlyRoots = [...(values.readOnlyRoots ?? []), value];
    return undefined;
  },
  '--store': (values, value) => {
    values.store = value;
    return undefined;
  },
  '--workspace': (values, value) => {
    values.workspace = value;
    return undefined;
  },
  '--color': (values, value) => {
    values.color = COLOURS.find((when) => when === value);
    return values.color === undefined ? unknownChoice('--color', value, COLOURS) : undefined;
  },
  '--policy': (values, value) => {
    values.policy = value;
    return undefined;
  },
};

const SWITCHES: Readonly<
  Record<string, 'readOnly' | 'allowCommands' | 'allowUndo' | 'showConfig' | 'sharedWorkspace'>
> = {
  '--read-only': 'readOnly',
  '--allow-commands': 'allowCommands',
  '--allow-undo': 'allowUndo',
  '--show-config': 'showConfig',
  '--shared-workspace': 'sharedWorkspace',
};

/** The values of flags that were not given. */
const DEFAULTS = {
  dialect: 'lookfirst',
  readOnly: false,
  allowCommands: false,
  allowUndo: false,
  showConfig: false,
} as const;

// The most frequent flags come first: if a mistyped flag is equally similar to two names, the first
// one is suggested.
export const SERVE_FLAGS: readonly string[] = [
  '--help',
  '--version',
  '--http',
  ...Object.keys(VALUED),
  ...Object.keys(SWITCHES),
];

/** Reads the arguments after `serve` without a library: loading one would take most of the start-up time. */
export function parseServe(args: readonly string[]): ServeRequest | ServeProblem {
  const values: Values = {};
  const folders: string[] = [];
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') {
      folders.push(...rest);
      break;
    }
    if (word === '--help' || word === '-h') return { help: true };
    if (word === '--version' || word === '-v') return { version: true };
    if (!word.startsWith('-') || word === '-') {
      folders.push(word);
      continue;
    }
    const problem = takeFlag(word, rest, values);
    if (problem !== undefined) return { problem };
  }
  if (folders.includes('')) return { problem: 'the name of a folder is empty' };
  return requestOf(values, folders);
}

function requestOf(values: Values, folders: readonly string[]): ServeRequest | ServeProblem {
  const { http, showConfig, allowUndo } = values;
  if (http === undefined && showConfig === true) return { problem: '--show-config needs --http' };
  if (http === undefined && allowUndo === true) return { problem: '--allow-undo needs --http' };
  // The cast is safe: a wrong value has been returned as a problem, so no member of `values` is
  // undefined.
  return { ...DEFAULTS, ...values, folders } as ServeRequest;
}

function takeFlag(word: string, rest: string[], values: Values): string | undefined {
  const equals = word.indexOf('=');
  const name = equals < 0 ? word : word.slice(0, equals);
  const attached = equals < 0 ? undefined : word.slice(equals + 1);
  if (name === '--http') return takeHttp(attached ?? portAhead(rest), values);
  const turned = Object.hasOwn(SWITCHES, name) ? SWITCHES[name] : undefined;
  if (turned !== undefined) {
    values[turned] = true;
    return attached === undefined ? undefined : `${name} takes no value`;
  }
  return takeValued({ name, attached }, rest, values);
}

function takeValued(
  { name, attached }: { name: string; attached: string | undefined },
  rest: string[],
  values: Values,
): string | undefined {
  const take = Object.hasOwn(VALUED, name) ? VALUED[name] : undefined;
  if (take === undefined) {
    return unknownWord('option', name, SERVE_FLAGS);
  }
  const value = attached ?? rest.shift();
  return value === undefined || value === '' ? `${name} needs a value` : take(values, value);
}

/**
 * Removes the port from the arguments after `--http` and returns it. Undefined if the next argument
 * is not a number.
 */
function portAhead(rest: string[]): string | undefined {
  return /^\d+$/.test(rest[0] ?? '') ? rest.shift() : undefined;
}

function takeHttp(text: string | undefined, values: Values): string | undefined {
  if (text === undefined) {
    values.http = {};
    return undefined;
  }
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) return `--http takes a port from 0 to 65535, not '${text}'`;
  values.http = { port };
  return undefined;
}
