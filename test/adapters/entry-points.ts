/** Compiled, never run: every entry point fits where its framework expects it. */
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type { Experimental_SandboxSession, ToolSet } from 'ai';
import type { ToolSet as ToolSet6 } from 'ai6';
import { currentSession, openSession } from 'lookfirst';
import { lookfirstTools as aiTools, lookfirstSandbox } from 'lookfirst/ai-sdk';
import { lookfirstTools as anthropicTools } from 'lookfirst/anthropic';

const session = await openSession({ roots: ['/repo'], store: 'memory:' });

export const ai6: ToolSet6 = aiTools(session, { only: undefined });
export const ai7: ToolSet = aiTools(currentSession);
export const sandbox: Experimental_SandboxSession = lookfirstSandbox(session);
// @ts-expect-error: a check that accepts anything would accept this.
export const wrong: ToolSet = lookfirstSandbox(session);
export const anthropic: BetaRunnableTool[] = anthropicTools(session);
