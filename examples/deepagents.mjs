// A deep agent whose file tools go through the gate: ANTHROPIC_API_KEY=… node deepagents.mjs
import { createDeepAgent } from 'deepagents';
import { FakeToolCallingModel } from 'langchain';
// The next lines connect the agent to Lookfirst.
import { openSession } from 'lookfirst';
import { LookfirstBackend, lookfirstMiddleware } from 'lookfirst/langchain';
// End of the lines for Lookfirst.
import { finish, hasty, root, task, told } from './workspace.mjs';

// The next lines connect the agent to Lookfirst.
const session = await openSession({ roots: [root], store: 'memory:' });
const backend = new LookfirstBackend(session);
const middleware = [lookfirstMiddleware(session, { only: [] })];
// End of the lines for Lookfirst.

// The file tools of deepagents take absolute paths.
const calls = hasty.map(([name, { path, ...args }]) => ({ name, args: { file_path: `/${path}`, ...args } }));
const toolCalls = [...calls.map((call, index) => [{ ...call, id: `call_${index}` }]), []];
const scripted = new FakeToolCallingModel({ toolCalls });
const model = process.env.ANTHROPIC_API_KEY ? 'anthropic:claude-sonnet-5-5' : scripted;
const agent = createDeepAgent({ model, backend, middleware });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: task }] });
for (const message of messages)
  if (message.getType() === 'tool') told(message.content[0]?.text ?? message.content);
finish();
await session.close();
