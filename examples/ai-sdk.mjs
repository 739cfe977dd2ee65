// An agent with the AI SDK (version 7): AI_GATEWAY_API_KEY=… node ai-sdk.mjs
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
// The next lines connect the agent to Lookfirst.
import { openSession } from 'lookfirst';
import { lookfirstTools, seenFrom } from 'lookfirst/ai-sdk';
// End of the lines for Lookfirst.
import { finish, hasty, root, task, told } from './workspace.mjs';

// The next lines connect the agent to Lookfirst.
const session = await openSession({ roots: [root], store: 'memory:' });
const tools = lookfirstTools(session, { only: ['read_file', 'edit_file', 'search_text', 'undo_change'] });
const prepareStep = seenFrom(session);
// End of the lines for Lookfirst.

const { steps } = await generateText({
  model: process.env.AI_GATEWAY_API_KEY ? 'anthropic/claude-sonnet-4.5' : scripted(),
  tools,
  prepareStep,
  prompt: task,
  stopWhen: isStepCount(10),
});
for (const { toolResults } of steps) for (const { output } of toolResults) told(output.text);
finish();
await session.close();

function scripted() {
  const calls = [...hasty];
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const [toolName, args] = calls.shift() ?? [];
      const call = { type: 'tool-call', toolCallId: `call-${calls.length}`, toolName, input: JSON.stringify(args) };
      const content = toolName ? [call] : [{ type: 'text', text: 'Done.' }];
      return { content, finishReason: { unified: toolName ? 'tool-calls' : 'stop' }, usage, warnings: [] };
    },
  });
}
