import { objectOf } from '../model/shape.ts';
import { LOOKFIRST_TOOLS } from '../report/tool-names.ts';
import { LOOKING_TOOLS } from './lookfirst/looking-tools.ts';
import { DESTROYS, type Dialect, string, tool } from './tool.ts';

// Drop the names of tools and arguments that this dialect lacks, so that its messages do not
// mention them.
const { delete: _delete, undo: _undo, ...OFFERED } = LOOKFIRST_TOOLS;
const {
  revision: _revision,
  replaceAll: _replaceAll,
  recursive: _recursive,
  ...ARGUMENTS
} = OFFERED.arguments;

const PATCH_TOOL = tool({
  name: 'apply_patch',
  title: 'Apply a patch',
  description:
    'Change files with a patch in the V4A format, all of it or nothing: *** Begin Patch, then *** Add File: PATH, *** Update File: PATH ' +
    'with hunks (@@, then lines that begin with space, - or +) or *** Delete File: PATH, then *** End Patch. ' +
    'A file must have been read before it is updated or deleted. Context lines must occur in the file exactly once.',
  inputSchema: objectOf(
    {
      patch: string('The patch, from *** Begin Patch to *** End Patch.'),
    },
    ['patch'],
  ),
  annotations: DESTROYS,
  call: ({ patch }) => ({ kind: 'patch', operation: { format: 'v4a', text: patch } }),
});

/**
 * The reading tools, and one tool for all changes, which takes the patch format that OpenAI's
 * models are trained on.
 */
export const APPLY_PATCH: Dialect = {
  name: 'apply-patch',
  tools: [...LOOKING_TOOLS, PATCH_TOOL],
  names: {
    ...OFFERED,
    write: 'apply_patch',
    edit: 'apply_patch',
    insert: 'apply_patch',
    arguments: { ...ARGUMENTS, oldText: 'the old lines' },
  },
  unknownArguments: 'refuse',
  terms: {},
  instructions:
    'Files here change only after you have looked. Read a file before a patch updates or deletes it. ' +
    'Change files with apply_patch, many at once if need be: all of it is done, or nothing. ' +
    'A refusal says what changed and names the next call: make that call, do not repeat the same one. Paths are relative to the workspace.',
};
