// An agent with the OpenAI Agents SDK: OPENAI_API_KEY=… node openai.mjs
import { Agent, Runner, Usage } from '@openai/agents';
// The next lines connect the agent to Lookfirst.
import { openSession } from 'lookfirst';
import { lookfirstTools, seenFrom } from 'lookfirst/openai';
// End of the lines for Lookfirst.
import { finish, hasty, root, task, told } from './workspace.mjs';

// The next lines connect the agent to Lookfirst.
const session = await openSession({ roots: [root], store: 'memory:' });
const tools = lookfirstTools(session);
const callModelInputFilter = seenFrom(session);
// End of the lines for Lookfirst.

const model = process.env.OPENAI_API_KEY ? 'gpt-5' : scripted();
const agent = new Agent({ name: 'editor', instructions: 'You edit files.', model, tools });
const runner = new Runner({ callModelInputFilter, tracingDisabled: !process.env.OPENAI_API_KEY });
const { newItems } = await runner.run(agent, task);
for (const item of newItems) if (item.type === 'tool_call_output_item') told(item.output);
finish();
await session.close();

function scripted() {
  const calls = [...hasty];
  return {
    async getResponse() {
      const [name, args] = calls.shift() ?? [];
      const call = { type: 'function_call', callId: `call_${calls.length}`, name, arguments: JSON.stringify(args) };
      const text = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
      return { usage: new Usage(), output: [{ status: 'completed', ...(name ? call : text) }] };
    },
    getStreamedResponse() {
      throw new Error('this model does not stream');
    },
  };
}
