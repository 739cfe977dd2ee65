import type { PresetName } from '../model/policy.ts';
import type { Refusal } from '../model/verdict.ts';

/**
 * Sentences of a preset, by `CODE/action`, `CODE/kind` or `CODE`. A refusal without a sentence here
 * gets the default one. `explain` fills in names in braces, such as `{path}`. A line with an
 * unknown value is omitted.
 */
type Wording = Readonly<Record<string, string>>;

const DEFAULT: Wording = {};

/** The sentences of each preset; `default` and `strict` have none here. */
const WORDINGS: Readonly<Record<PresetName, Wording>> = {
  default: DEFAULT,
  strict: DEFAULT,
  sandbox: {
    'NOT_READ/overwrite': 'refusing to overwrite {path}: Read it first',
    'NOT_READ/edit': 'refusing to edit {path}: Read it first',
    'NOT_A_FILE/directory': 'path is a directory: {path}',
    NO_MATCH: 'old_string not found in {path}',
    AMBIGUOUS_MATCH:
      'old_string matched {count} times in {path}; add context to make it unique or set replace_all=true',
  },
  'file-time': {
    NOT_READ:
      'File {path} has not been read in this session. You MUST use the {tool} tool first before writing to existing files',
    STALE:
      'File {path} has been modified since it was last read.\nLast modification: {mtime}\nLast read: {read}\n\nPlease use the {tool} tool again to get the latest contents before modifying it.',
  },
  'thread-history': {
    'NOT_READ/overwrite': notRead("exists but hasn't", 'overwriting'),
    'NOT_READ/insert': notRead("hasn't", 'inserting'),
    'NOT_READ/edit': notRead("hasn't", 'editing'),
    NOT_READ: notRead("exists but hasn't", 'modifying'),
  },
  staleness: {
    STALE:
      'WARNING: File "{path}" has been modified externally since you last read it.\nReason: {reason}\nYou should re-read the file before making changes to avoid overwriting external edits.\nIf you proceed anyway, external changes will be lost. {proceed}',
  },
};

/** The preset's own template for this refusal, if it has one. */
export function templateFor(wording: PresetName, refusal: Refusal): string | undefined {
  const words = WORDINGS[wording];
  const { code, action, next } = refusal;
  // No preset has a sentence that suggests a listing, because the systems that the presets copy
  // never require one.
  if (next === 'list') return undefined;
  return words[`${code}/${action}`] ?? words[`${code}/${kindIn(refusal)}`] ?? words[code];
}

function kindIn({ detail }: Refusal): string | undefined {
  return detail !== undefined && 'kind' in detail ? detail.kind : undefined;
}

/** Fills in a template and drops lines that need an unknown value. */
export function fill(template: string, values: Readonly<Record<string, string | undefined>>): string {
  const lines: string[] = [];
  for (const line of template.split('\n')) {
    const names = [...line.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    if (names.some((name) => values[name] === undefined)) continue;
    // Use a replacer function, because a value may contain `$&`, which has a meaning in a
    // replacement text.
    lines.push(line.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ''));
  }
  return lines.join('\n');
}

function notRead(has: string, doing: string): string {
  return `File {path} ${has} been read in this conversation. Use {tool} to examine the current contents before ${doing}.`;
}
