import type { ContentBlock } from '../../src/dialect/render.ts';
import type { ToolContext } from '../../src/tools/tool-answer.ts';
import type { ToolDefinition, ToolHost } from '../../src/tools/tool-host.ts';

/** One transparent pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** A WAV file without samples. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

const TEXT: ContentBlock = { type: 'text', text: 'This is a simple text response for testing.' };
const IMAGE: ContentBlock = { type: 'image', data: PNG, mimeType: 'image/png' };
const AUDIO: ContentBlock = { type: 'audio', data: WAV, mimeType: 'audio/wav' };
const RESOURCE: ContentBlock = {
  type: 'resource',
  resource: { uri: 'test://embedded-resource', mimeType: 'application/octet-stream', blob: 'AAEC' },
};

async function approved({ times }: ToolContext): Promise<readonly ContentBlock[]> {
  const answer = await times.approve?.({ path: 'a.txt', action: 'overwrite', mark: '' });
  return [{ type: 'text', text: `User response: ${answer ?? 'none'}` }];
}

/**
 * The tools that the conformance suite calls by name, except those whose answers have a form that
 * we never send.
 */
const TOOLS: Readonly<Record<string, (context: ToolContext) => Promise<readonly ContentBlock[]>>> = {
  test_simple_text: async () => [TEXT],
  test_image_content: async () => [IMAGE],
  test_audio_content: async () => [AUDIO],
  test_embedded_resource: async () => [RESOURCE],
  test_multiple_content_types: async () => [TEXT, IMAGE, RESOURCE],
  test_tool_with_progress: async ({ progress }) => {
    for (const done of [1, 50, 100]) progress(done, 100);
    return [TEXT];
  },
  test_elicitation: approved,
  test_streaming_elicitation: approved,
  json_schema_2020_12_tool: async () => [TEXT],
  // We send no log messages, whatever level a request names.
  test_logging_tool: async () => [TEXT],
};

const SCHEMAS: Readonly<Record<string, ToolDefinition['inputSchema']>> = {
  test_elicitation: { type: 'object', properties: { message: { type: 'string' } } },
  json_schema_2020_12_tool: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // `then` is a keyword of JSON Schema here, not the method of a promise.
    // biome-ignore lint/suspicious/noThenProperty: a schema is not awaited
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
};

/**
 * A tool host for the protocol's conformance suite. Its tools answer as the suite expects, so that
 * the suite can test our transport.
 */
export function conformanceHost(): ToolHost {
  const names = [...Object.keys(TOOLS), 'test_error_handling'];
  return {
    info: { name: 'lookfirst-conformance', version: '1.0.0' },
    instructions: 'Tools for the conformance suite.',
    tools: () =>
      names.map((name) => ({
        name,
        description: `Fixture of the conformance suite: ${name}`,
        inputSchema: SCHEMAS[name] ?? { type: 'object', properties: {} },
      })),
    call: async (name, _args, context) => {
      const tool = TOOLS[name];
      if (tool !== undefined) return { ok: true, shown: await tool(context), outcome: { ok: true } };
      const text = 'This tool intentionally returns an error for testing';
      return { ok: false, text, outcome: { ok: false, code: 'MISUSE', next: 'ask_human' } };
    },
  };
}
