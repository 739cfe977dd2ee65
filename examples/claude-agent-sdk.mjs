// An agent with the Claude Agent SDK: its own tools and its shell go through the gate.
// ANTHROPIC_API_KEY=… node claude-agent-sdk.mjs
import { once } from 'node:events';
import { createServer } from 'node:http';
import { query } from '@anthropic-ai/claude-agent-sdk';
// The next lines connect the agent to Lookfirst.
import { openSession } from 'lookfirst';
import { lookfirstHooks } from 'lookfirst/claude-agent-sdk';
// End of the lines for Lookfirst.
import { finish, root, task, told } from './workspace.mjs';

// The next lines connect the agent to Lookfirst.
const session = await openSession({ roots: [root], store: 'memory:' });
const hooks = lookfirstHooks(session);
// End of the lines for Lookfirst.

const tools = ['Bash', 'Read', 'Edit'];
const api = process.env.ANTHROPIC_API_KEY ? undefined : await scripted();
const env = api === undefined ? process.env : { PATH: process.env.PATH, HOME: root, ...api.env };
const options = { cwd: root, hooks, tools, allowedTools: tools, settingSources: [], env };
for await (const { type, message } of query({ prompt: task, options }))
  if (type === 'user') for (const { content } of message.content) if (content) told(content);
finish();
api?.close();
await session.close();

/** A fake Anthropic API with scripted answers: a blind write through the shell, a read, an edit. */
async function scripted() {
  const file_path = `${root}/greeting.txt`;
  const calls = [
    ['Bash', { command: 'echo "Hello, world!" > greeting.txt', description: 'Correct it' }],
    ['Read', { file_path }],
    ['Edit', { file_path, old_string: 'word', new_string: 'world' }],
  ];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const isAgent = /"tools":\[\{/.test(body) && !request.url.includes('count_tokens');
    const [name, input] = (isAgent ? calls.shift() : undefined) ?? [];
    const send = (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `m${calls.length}`, type: 'message', role: 'assistant', model: 'scripted', content: [], usage };
    send('message_start', { message });
    const block = name ? { type: 'tool_use', id: `call_${calls.length}`, name, input: {} } : { type: 'text', text: 'Done.' };
    send('content_block_start', { index: 0, content_block: block });
    const partial_json = JSON.stringify(input);
    if (name) send('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json } });
    send('content_block_stop', { index: 0 });
    send('message_delta', { delta: { stop_reason: name ? 'tool_use' : 'end_turn' }, usage });
    send('message_stop', {});
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  return { env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none' }, close: () => server.close() };
}
