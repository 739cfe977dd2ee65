import { describe, expect, it } from 'vitest';
import type { Operations } from '../../src/dialect/operation.ts';
import { checkArguments, DIALECT_NAMES, type Tool } from '../../src/dialect/tool.ts';
import { loadDialect } from '../../src/mcp/serve.ts';
import type { ObjectShape, Shape } from '../../src/model/shape.ts';

const DIALECTS = await Promise.all(DIALECT_NAMES.map(loadDialect));
const TOOLS = DIALECTS.flatMap((dialect) =>
  dialect.tools.map((tool): [string, Tool] => [`${dialect.name} ${tool.name}`, tool]),
);
const CHANGES: ReadonlySet<keyof Operations> = new Set([
  'patch',
  'run',
  'write',
  'edit',
  'insert',
  'apply',
  'delete',
  'move',
  'mkdir',
  'undo',
]);

function reasonFor(tool: Tool, args: unknown): string | undefined {
  const checked = checkArguments(tool.inputSchema, args, 'refuse');
  return 'reason' in checked ? checked.reason : undefined;
}

/** Sample arguments that match the schema: only the required ones, or all of them. */
function sample(schema: Shape, which: 'required' | 'all'): unknown {
  switch (schema.type) {
    case 'string':
      return schema.enum?.[0] ?? 'text';
    case 'boolean':
      return true;
    case 'number':
    case 'integer':
      return Math.max(schema.minimum ?? 1, 1);
    case 'array':
      return Array.from({ length: schema.minItems ?? 1 }, () => sample(schema.items, which));
    case 'object':
      return sampleObject(schema, which);
  }
}

function sampleObject(schema: ObjectShape, which: 'required' | 'all'): Record<string, unknown> {
  const names = which === 'all' ? Object.keys(schema.properties) : (schema.required ?? []);
  return Object.fromEntries(names.map((name) => [name, sample(schema.properties[name] as Shape, which)]));
}

function choices(schema: Shape): readonly string[] {
  return schema.type === 'string' ? (schema.enum ?? []) : [];
}

function objectsIn(schema: Shape): ObjectShape[] {
  if (schema.type === 'array') return objectsIn(schema.items);
  if (schema.type !== 'object') return [];
  return [schema, ...Object.values(schema.properties).flatMap(objectsIn)];
}

/** Sample arguments that are also meaningful: a batch must contain a change. */
function meaningful(tool: Tool): Record<string, unknown> {
  if (tool.name === 'apply_changes') return { changes: [{ path: 'a', content: 'b' }] };
  if (tool.name === 'read_file') return { path: 'a' };
  if (tool.name === 'bash') return { command: 'true' };
  if (tool.name === 'str_replace_based_edit_tool') return { command: 'create', path: 'a', file_text: '' };
  return sampleObject(tool.inputSchema, 'required');
}

describe.each(DIALECTS.map((dialect) => [dialect.name, dialect] as const))('dialect %s', (_name, dialect) => {
  it('names an argument of its own for the text that an edit replaces', () => {
    const { oldText = 'old_string' } = dialect.names.arguments;
    const schemas = JSON.stringify(dialect.tools.map(({ inputSchema }) => inputSchema));
    // A patch has no such argument, so the words describe a part of the patch.
    const isArgument = schemas.includes(`"${oldText}"`);
    expect(isArgument || dialect.name === 'apply-patch').toBe(true);
  });

  it('names each tool once, as the protocol allows', () => {
    const names = dialect.tools.map((tool) => tool.name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,128}$/);
  });

  it('has instructions of at most 512 characters that name only its own tools and arguments', () => {
    expect(dialect.instructions.length).toBeLessThanOrEqual(512);
    const known = new Set(
      dialect.tools.flatMap((tool) => [
        tool.name,
        ...Object.entries(tool.inputSchema.properties).flatMap(([name, schema]) => [
          name,
          ...choices(schema),
        ]),
      ]),
    );
    for (const word of dialect.instructions.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [])
      expect(known).toContain(word);
  });

  it('renames only arguments that its tools have', () => {
    const known = dialect.tools.flatMap((tool) => tool.inputSchema);
    const names = new Set(
      known.flatMap((schema) => objectsIn(schema).flatMap((one) => Object.keys(one.properties))),
    );
    for (const term of Object.values(dialect.terms)) expect(names).toContain(term);
  });
});

describe.each(TOOLS)('%s', (_name, tool) => {
  it('has a schema that rejects unknown properties at any depth', () => {
    for (const object of objectsIn(tool.inputSchema)) {
      expect(object.additionalProperties).toBe(false);
      for (const name of object.required ?? []) expect(object.properties).toHaveProperty(name);
    }
  });

  it('has a short description', () => {
    expect(tool.title).not.toBe('');
    expect(tool.description.length).toBeGreaterThan(20);
    expect(tool.description.length).toBeLessThan(400);
  });

  it('has all four hints, and they match its effect', () => {
    const { annotations } = tool;
    for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const)
      expect(annotations[hint]).toBeTypeOf('boolean');
    const call = tool.call(meaningful(tool));
    expect(call.kind).not.toBe('problem');
    expect(annotations.readOnlyHint).toBe(!CHANGES.has(call.kind as keyof Operations));
    if (annotations.readOnlyHint) expect(annotations.destructiveHint).toBe(false);
  });

  it.each(['required', 'all'] as const)('accepts arguments that match the schema (%s)', (which) => {
    expect(reasonFor(tool, sampleObject(tool.inputSchema, which))).toBeUndefined();
  });

  it('refuses each required argument that is missing, each wrong type, and any unknown name', () => {
    const args = sampleObject(tool.inputSchema, 'all');
    for (const name of tool.inputSchema.required ?? []) {
      const { [name]: _, ...rest } = args;
      expect(reasonFor(tool, rest)).toContain(name);
    }
    for (const name of Object.keys(args))
      expect(reasonFor(tool, { ...args, [name]: () => {} })).toContain(name);
    expect(reasonFor(tool, { ...args, surprise: 1 })).toContain('surprise');
  });
});

describe('the tool names and arguments that users and programs depend on', () => {
  it.each([
    [
      'lookfirst',
      [
        'read_file(path?, paths?, offset?, limit?)',
        'list_directory(path?, depth?, after?)',
        'find_files(pattern, path?)',
        'search_text(pattern, path?, glob?, mode?, context?, ignore_case?, literal?)',
        'file_status(path?)',
        'write_file(path, content, expected_revision?)',
        'edit_file(path, old_string, new_string, replace_all?, expected_revision?)',
        'insert_lines(path, after_line?, content, expected_revision?)',
        'apply_changes(changes, dry_run?)',
        'delete_path(path, recursive?)',
        'move_path(source, destination)',
        'undo_change(change?, path?, merge?)',
        'run_command(command, timeout_ms?)',
      ],
    ],
    [
      'sandbox',
      [
        'Read(file_path, offset?, limit?)',
        'Write(file_path, content)',
        'Edit(file_path, old_string, new_string, replace_all?)',
        'Glob(pattern, path?, limit?)',
        'Grep(pattern, path?, glob?, case_insensitive?, output_mode?, head_limit?)',
        'Bash(command, timeout?)',
      ],
    ],
    [
      'lace',
      [
        'file_read(path, startLine?, endLine?)',
        'file_write(path, content, createDirs?)',
        'file_insert(path, content, line?)',
        'file_list(path?, recursive?, maxDepth?, after?, maxResults?)',
        'file_find(pattern, path?, maxResults?)',
        'ripgrep_search(pattern, path?, caseSensitive?, wholeWord?, literal?, includePattern?, excludePattern?, maxResults?, contextLines?)',
        'file_edit(path, edits, dry_run?)',
      ],
    ],
    [
      'filesystem',
      [
        'read_file(path, tail?, head?)',
        'read_text_file(path, tail?, head?)',
        'read_media_file(path)',
        'read_multiple_files(paths)',
        'write_file(path, content)',
        'edit_file(path, edits, dryRun?)',
        'create_directory(path)',
        'move_file(source, destination)',
        'list_directory(path)',
        'list_directory_with_sizes(path, sortBy?)',
        'directory_tree(path, excludePatterns?)',
        'search_files(path, pattern, excludePatterns?)',
        'get_file_info(path)',
        'list_allowed_directories()',
      ],
    ],
    [
      'text-editor',
      [
        'str_replace_based_edit_tool(command, path, view_range?, file_text?, old_str?, new_str?, insert_line?, insert_text?)',
      ],
    ],
    [
      'apply-patch',
      [
        'read_file(path?, paths?, offset?, limit?)',
        'list_directory(path?, depth?, after?)',
        'find_files(pattern, path?)',
        'search_text(pattern, path?, glob?, mode?, context?, ignore_case?, literal?)',
        'file_status(path?)',
        'apply_patch(patch)',
      ],
    ],
    [
      'anthropic',
      [
        'read(file_path, view_range?)',
        'write(file_path, content)',
        'edit(file_path, old_string, new_string, replace_all?)',
        'glob(pattern, path?)',
        'grep(pattern, path?)',
        'bash(command?, timeout_ms?, restart?)',
      ],
    ],
  ] as const)('of %s', async (name, expected) => {
    const { tools } = await loadDialect(name);
    expect(tools.map(signature)).toEqual(expected);
  });
});

function signature({ name, inputSchema }: Tool): string {
  const required = new Set(inputSchema.required ?? []);
  const args = Object.keys(inputSchema.properties).map((arg) => (required.has(arg) ? arg : `${arg}?`));
  return `${name}(${args.join(', ')})`;
}
