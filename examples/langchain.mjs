// An agent with LangChain: ANTHROPIC_API_KEY=… node langchain.mjs
import { createAgent, FakeToolCallingModel } from 'langchain';
// The next lines connect the agent to Lookfirst.
import { openSession } from 'lookfirst';
import { lookfirstMiddleware } from 'lookfirst/langchain';
// End of the lines for Lookfirst.
import { finish, hasty, root, task, told } from './workspace.mjs';

// The next lines connect the agent to Lookfirst.
const session = await openSession({ roots: [root], store: 'memory:' });
const middleware = [lookfirstMiddleware(session)];
// End of the lines for Lookfirst.

const toolCalls = [...hasty.map(([name, args], index) => [{ name, args, id: `call_${index}` }]), []];
const scripted = new FakeToolCallingModel({ toolCalls });
const model = process.env.ANTHROPIC_API_KEY ? 'anthropic:claude-sonnet-5-5' : scripted;
const agent = createAgent({ model, middleware });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: task }] });
for (const message of messages) if (message.getType() === 'tool') told(message.content);
finish();
await session.close();
