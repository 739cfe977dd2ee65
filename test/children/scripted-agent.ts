// An agent in a process of its own. It begins when its parent sends a message. At the end, it sends
// the parent its counts or an error.
import { Sessions } from '../../src/session/sessions.ts';
import { ScriptedAgent } from '../support/scripted-agent.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly store?: string;
  readonly claims: 'notice' | 'off';
  readonly agent: number;
  /** Average pause of the agent before each call. */
  readonly thinkMs: number;
}

const { root, home, store, claims, agent, thinkMs } = JSON.parse(process.argv[2] ?? '') as Settings;
const sessions = await Sessions.open({ roots: [root], home, store, policy: { claims } });
const scripted = new ScriptedAgent(await sessions.session(`agent-${agent}`), { agent, thinkMs });
process.once('message', async () => {
  try {
    const counts = await scripted.work();
    await sessions.close();
    process.send?.({ counts });
  } catch (error) {
    process.send?.({ fault: String(error) });
  }
  process.disconnect();
});
process.send?.('ready');
