/** Compiled, never run: checks that each entry point has the types that its framework expects. */
import type { Options, SdkMcpToolDefinition } from '@anthropic-ai/claude-agent-sdk';
import type { MemoryToolHandlers } from '@anthropic-ai/sdk/helpers/beta/memory';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type { StructuredToolInterface } from '@langchain/core/tools';
import type { CallModelInputFilter, Editor, Shell, Tool } from '@openai/agents';
import type { SandboxSession } from '@openai/agents/sandbox';
import type { Experimental_SandboxSession, ToolSet } from 'ai';
import type { ToolSet as ToolSet6 } from 'ai6';
import type { BackendProtocolV2 } from 'deepagents';
import type { AgentMiddleware } from 'langchain';
import { currentSession, openSession } from 'lookfirst';
import { lookfirstTools as aiTools, lookfirstSandbox } from 'lookfirst/ai-sdk';
import {
  lookfirstTools as anthropicTools,
  lookfirstAgentToolset,
  lookfirstMemory,
  lookfirstTextEditor,
} from 'lookfirst/anthropic';
import { lookfirstTools as claudeTools, lookfirstHooks, lookfirstServer } from 'lookfirst/claude-agent-sdk';
import { LookfirstBackend, lookfirstTools as langchainTools, lookfirstMiddleware } from 'lookfirst/langchain';
import {
  guardSandbox,
  lookfirstEditor,
  lookfirstShell,
  lookfirstTools as openaiTools,
  seenFrom,
} from 'lookfirst/openai';

declare const shell: Shell;
declare const sandboxSession: SandboxSession;
const session = await openSession({ roots: ['/repo'], store: 'memory:' });

export const ai6: ToolSet6 = aiTools(session, { only: undefined });
export const ai7: ToolSet = aiTools(currentSession);
export const sandbox: Experimental_SandboxSession = lookfirstSandbox(session);
// @ts-expect-error: a sandbox is not a ToolSet. If this compiles, one of the types is `any`.
export const wrong: ToolSet = lookfirstSandbox(session);
export const anthropic: BetaRunnableTool[] = [
  ...anthropicTools(session),
  ...lookfirstAgentToolset(session),
  lookfirstTextEditor(session),
];
export const memory: MemoryToolHandlers = lookfirstMemory(session);
export const openai: Tool[] = openaiTools(session);
export const editor: Editor = lookfirstEditor(session);
export const guardedShell: Shell = lookfirstShell(session, shell);
export const guarded: SandboxSession = guardSandbox(sandboxSession, session);
export const filter: CallModelInputFilter = seenFrom(session);
export const langchain: StructuredToolInterface[] = langchainTools(session);
export const middleware: AgentMiddleware = lookfirstMiddleware(session);
export const backend: BackendProtocolV2 = new LookfirstBackend(session);
export const claude: SdkMcpToolDefinition[] = claudeTools(session);
export const options: Options = {
  hooks: lookfirstHooks(session),
  mcpServers: { lookfirst: lookfirstServer(session) },
};
