/**
 * The values and types that adapters use from frameworks, so that this project compiles without the
 * frameworks. `test/adapters` checks the adapters against the real types.
 */
declare module '@anthropic-ai/sdk/lib/tools/ToolError' {
  export class ToolError extends Error {
    constructor(content: string);
  }
}

declare module '@langchain/core/messages' {
  export class ToolMessage {
    constructor(fields: {
      content: string | object[];
      tool_call_id: string;
      name: string;
      status: 'success' | 'error';
      artifact: unknown;
    });
  }
}

declare module '@langchain/core/tools' {
  export interface StructuredToolInterface {
    name: string;
    call(args: unknown, config?: unknown, tags?: string[]): Promise<unknown>;
  }
  export function tool<Config>(
    run: (args: unknown, config: Config) => Promise<unknown>,
    fields: { name: string; description: string; schema: object },
  ): StructuredToolInterface;
}

declare module '@openai/agents' {
  export function tool(fields: {
    name: string;
    description: string;
    parameters: object;
    execute: () => string;
  }): { needsApproval(): Promise<boolean> };
}

declare module 'langchain' {
  interface ModelRequest {
    messages: readonly unknown[];
  }
  export interface AgentMiddleware {
    name: string;
    tools?: unknown[];
    wrapModelCall?: (
      request: ModelRequest,
      handler: (request: ModelRequest) => Promise<unknown>,
    ) => Promise<unknown>;
    [brand: symbol]: true;
  }
}

declare module '@anthropic-ai/claude-agent-sdk' {
  export type HookEvent = string;
  export type HookCallback = (input: unknown) => Promise<object>;
  export interface HookCallbackMatcher {
    hooks: HookCallback[];
    onFailure?: 'continue' | 'block';
  }
  export interface McpSdkServerConfigWithInstance {
    type: 'sdk';
    name: string;
    instance: object;
  }
  export interface SdkMcpToolDefinition {
    name: string;
    description: string;
    inputSchema: object;
    annotations: object;
    handler: (args: unknown, extra: unknown) => Promise<object>;
  }
}
