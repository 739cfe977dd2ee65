import { pathText } from '../report/bounded.ts';
import { commandText } from '../report/command-words.ts';
import {
  applyText,
  changeText,
  editText,
  insertText,
  patchText,
  undoText,
  writeText,
} from './lookfirst/change-text.ts';
import { findAnswer, listAnswer, searchAnswer, statusText } from './lookfirst/looking-text.ts';
import { manyText } from './lookfirst/read-text.ts';
import type { Operations, Results } from './operation.ts';
import type { RenderContext, Rendered } from './render.ts';

/** Writes the answer to an operation. */
type Answers<K extends keyof Operations> = (
  operation: Operations[K],
  result: Results[K],
  context: RenderContext,
) => Rendered;

/** The operations whose answer every dialect words in the same way, unless its call says otherwise. */
export type AnsweredKind = Exclude<keyof Operations, 'read' | 'view' | 'media' | 'mkdir' | 'info' | 'roots'>;

/** The usual answer to each kind of operation. */
export const ANSWERS: { readonly [K in AnsweredKind]: Answers<K> } = {
  'read-many': (_operation, result, context) => manyText(result, context),
  write: (_operation, result, context) => writeText(result, context),
  edit: (_operation, result, context) => editText(result, context),
  insert: (_operation, result, context) => insertText(result, context),
  apply: ({ changes }, result, context) => applyText(changes, result, context),
  patch: patchText,
  delete: ({ path }, result, context) => changeText(`deleted ${pathText(path)}`, result, context),
  move: ({ source, destination }, result, context) =>
    changeText(`moved ${pathText(source)} to ${pathText(destination)}`, result, context),
  undo: (_operation, result) => undoText(result),
  list: ({ depth }, result, context) => listAnswer(result, context, depth),
  find: ({ pattern }, result) => findAnswer(pattern, result),
  search: ({ pattern }, result) => searchAnswer(pattern, result),
  status: (_operation, result, context) => statusText(result, context),
  run: (_operation, result, { tools }) => commandText(result, tools),
};
