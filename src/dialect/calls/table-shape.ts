import {
  FLAG,
  listOf,
  NAME,
  type ObjectShape,
  objectOf,
  oneOf,
  type Shape,
  TEXT,
  variantOf,
} from '../../model/shape.ts';
import type { ToolNames } from '../../report/tool-names.ts';

const NUMBER: Shape = { type: 'number' };
const TRUE: Shape = { type: 'constant', values: [true], must: 'true, or absent' };
const ZERO_OR_ONE: Shape = { type: 'constant', values: [0, 1] };
const TEXTS = listOf(TEXT, { must: 'an array of strings' });

const CONDITION = objectOf(
  {
    argument: TEXT,
    is: listOf({ type: 'either', shapes: [TEXT, FLAG, NUMBER] }),
    inItem: TRUE,
  },
  ['argument'],
);
const LINES = objectOf({
  each: TEXT,
  head: TEXT,
  tail: TEXT,
  from: TEXT,
  to: TEXT,
  count: TEXT,
  firstLine: ZERO_OR_ONE,
  defaultCount: NUMBER,
});
const AFTER = objectOf({ argument: TEXT, plus: NUMBER }, ['argument', 'plus']);
const EDIT = objectOf(
  {
    old: TEXT,
    new: TEXT,
    each: TEXT,
    all: TEXT,
    allByDefault: FLAG,
    occurrences: TEXT,
    loosely: listOf(CONDITION),
  },
  ['old', 'new'],
);
const DECORATION = { header: TEXT, footers: TEXTS };
const SHOWN = variantOf('as', {
  verbatim: objectOf(DECORATION),
  sections: objectOf(
    { open: TEXT, failed: TEXT, close: TEXT, between: TEXT, ...DECORATION, aloneVerbatim: TRUE },
    ['open', 'failed', 'close', 'between'],
  ),
  blocks: objectOf({ open: TEXT, ...DECORATION }, ['open']),
  json: objectOf(
    {
      content: TEXT,
      items: TEXT,
      path: TEXT,
      from: TEXT,
      firstLine: ZERO_OR_ONE,
      more: { type: 'either', shapes: [TEXT, TEXTS] },
      zero: TEXT,
    },
    ['content'],
  ),
  described: objectOf({}),
  diff: objectOf({}),
});

/** Every rule may apply to each item of an argument, and under conditions. */
const SCOPE = { each: TEXT, when: CONDITION, unless: CONDITION };
const PATH = { ...SCOPE, path: TEXT };
const PATHS = { ...SCOPE, source: TEXT, destination: TEXT };
const RULE = variantOf('does', {
  look: objectOf({ ...PATH, orName: TRUE }, ['path']),
  list: objectOf(PATH, ['path']),
  mkdir: objectOf(PATH, ['path']),
  read: objectOf({ ...PATH, shown: SHOWN, lines: LINES }, ['path', 'shown']),
  write: objectOf({ ...PATH, content: TEXT }, ['path', 'content']),
  edit: objectOf({ ...PATH, edit: EDIT }, ['path', 'edit']),
  insert: objectOf({ ...PATH, content: TEXT, after: AFTER }, ['path', 'content']),
  touch: objectOf({ ...PATH, lines: LINES }, ['path']),
  delete: objectOf({ ...PATH, recursive: TEXT }, ['path']),
  move: objectOf({ ...PATHS, taken: TEXT }, ['source', 'destination']),
  copy: objectOf(PATHS, ['source', 'destination']),
  run: objectOf({ ...SCOPE, command: TEXT }, ['command']),
  unknown: objectOf(SCOPE),
  nothing: objectOf(SCOPE),
});

/** A user's table for a server: a `ServerTable` of which only `id` and `tools` are required. */
export const USER_TABLE: ObjectShape = objectOf(
  {
    id: NAME,
    serverNames: TEXTS,
    signature: TEXTS,
    relativeTo: oneOf('root', 'cwd'),
    folder: {
      type: 'either',
      shapes: [objectOf({ after: TEXT }, ['after']), objectOf({ option: TEXT }, ['option'])],
      must: '{"after": NAME} or {"option": NAME}',
    },
    followsRoots: TRUE,
    elsewhere: TEXTS,
    onlyRelative: TRUE,
    equalNames: TRUE,
    expandsHome: FLAG,
    words: objectOf(
      {
        read: TEXT,
        write: TEXT,
        edit: TEXT,
        insert: TEXT,
        delete: TEXT,
        list: TEXT,
        arguments: objectOf(
          {
            path: TEXT,
            from: TEXT,
            fromZero: TEXT,
            count: TEXT,
            to: TEXT,
            range: TEXT,
            recursive: TEXT,
            depth: TEXT,
            revision: TEXT,
            replaceAll: TEXT,
            oldText: TEXT,
          } satisfies Record<keyof ToolNames['arguments'], Shape>,
          ['path'],
        ),
      },
      ['read', 'write', 'edit', 'arguments'],
    ),
    tools: {
      type: 'map',
      values: listOf(RULE, { minItems: 1, must: 'an array of rules' }),
      must: 'an object of tool names',
    },
  },
  ['id', 'tools'],
);
