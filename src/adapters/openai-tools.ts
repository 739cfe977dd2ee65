import { tool as functionTool } from '@openai/agents';
import { isRecord, type JsonRecord, parseJson, stringIn } from '../model/record.ts';
import {
  adapterToolset,
  answered,
  type SessionSource,
  type ToolsetAnswer,
  type ToolsetOptions,
} from '../tools/toolset.ts';

/**
 * A function tool for an `Agent`. The framework has no flag for errors, so the text of a refusal is
 * the result.
 */
export interface OpenAiTool {
  type: 'function';
  name: string;
  description: string;
  parameters: OpenAiParameters;
  strict: true;
  invoke(
    runContext: unknown,
    input: string,
    details?: { readonly signal?: AbortSignal },
  ): Promise<string | OpenAiOutput[]>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

interface OpenAiParameters {
  type: 'object';
  properties: Record<string, JsonRecord>;
  required: string[];
  additionalProperties: false;
}

/** One part of a result that contains media. */
export type OpenAiOutput =
  | { type: 'text'; text: string }
  | { type: 'image'; image: { data: string; mediaType: string } }
  | { type: 'file'; file: { data: string; mediaType: string; filename: string } };

/**
 * The framework's own answer that a tool needs no approval. With another function, the framework would ask the user
 * to approve each call whose arguments it cannot parse, and the run would stop.
 */
const { needsApproval: NO_APPROVAL } = functionTool({
  name: 'unused',
  description: '',
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
  execute: () => '',
});

/** The tools of a session, with strict schemas. */
export function lookfirstTools(session: SessionSource, options: ToolsetOptions = {}): OpenAiTool[] {
  return adapterToolset(session, options).tools.map((tool) => ({
    type: 'function',
    name: tool.name,
    description: tool.description,
    // The cast is safe: the strict schema of a toolset has these fields, and every property is required.
    parameters: tool.strictSchema as unknown as OpenAiParameters,
    strict: true,
    invoke: async (_context, input, details) => {
      // Input that is not JSON is passed on: the tool refuses it with a text that the model can act on.
      const args = parseJson(input) ?? input;
      return outputOf(await answered(tool, args, { signal: details?.signal }), args);
    },
    needsApproval: NO_APPROVAL,
    isEnabled: async () => true,
  }));
}

function outputOf({ text, media }: ToolsetAnswer, args: unknown): string | OpenAiOutput[] {
  if (media === undefined) return text;
  const path = (isRecord(args) ? stringIn(args, 'path') : undefined) ?? 'file';
  const filename = path.split('/').at(-1) ?? path;
  const files = media.map(
    ({ mimeType: mediaType, base64: data }): OpenAiOutput =>
      mediaType.startsWith('image/')
        ? { type: 'image', image: { data, mediaType } }
        : { type: 'file', file: { data, mediaType, filename } },
  );
  return [{ type: 'text', text }, ...files];
}
