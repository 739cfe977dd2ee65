// An agent with the Anthropic SDK: ANTHROPIC_API_KEY=… node anthropic.mjs
import Anthropic from '@anthropic-ai/sdk';
// The next lines connect the agent to Lookfirst.
import { openSession } from 'lookfirst';
import { lookfirstTools, seenFrom } from 'lookfirst/anthropic';
// End of the lines for Lookfirst.
import { finish, hasty, root, task, told } from './workspace.mjs';

const client = process.env.ANTHROPIC_API_KEY ? new Anthropic() : scripted();

// The next lines connect the agent to Lookfirst.
const session = await openSession({ roots: [root], store: 'memory:' });
const seen = seenFrom(session);
const tools = lookfirstTools(session);
// End of the lines for Lookfirst.

const messages = [{ role: 'user', content: task }];
const runner = client.beta.messages.toolRunner({ model: 'claude-sonnet-5-5', max_tokens: 2000, messages, tools });
for await (const message of runner) {
  await seen(message, runner.params); // This line connects the agent to Lookfirst.
  const results = (await runner.generateToolResponse())?.content ?? [];
  for (const { content } of results) told(content);
}
finish();
await session.close();

function scripted() {
  const calls = [...hasty];
  const fetch = async () => {
    const [name, input] = calls.shift() ?? [];
    const content = name
      ? [{ type: 'tool_use', id: `call_${calls.length}`, name, input }]
      : [{ type: 'text', text: 'Done.' }];
    const message = { id: `m${calls.length}`, type: 'message', role: 'assistant', model: 'scripted', content };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const body = JSON.stringify({ ...message, stop_reason: name ? 'tool_use' : 'end_turn', usage });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  };
  return new Anthropic({ apiKey: 'none', fetch });
}
