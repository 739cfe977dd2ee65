// An agent in a process of its own. It takes one step for each message, and answers each with what happened to it so far.
import { setTimeout } from 'node:timers/promises';
import { Sessions } from '../../src/session/sessions.ts';
import { type Counts, scriptedAgent, workOf } from '../support/scripted-agent.ts';

interface Settings {
  readonly root: string;
  readonly home: string;
  readonly store?: string;
  readonly claims: 'notice' | 'off';
  readonly agent: number;
  /** How long it thinks at the beginning of a turn. */
  readonly thinkMs: number;
}

const { root, home, store, claims, agent, thinkMs } = JSON.parse(process.argv[2] ?? '') as Settings;
const sessions = await Sessions.open({ roots: [root], home, store, policy: { claims } });
const counts: Counts = { stale: 0, edits: 0, notices: [] };
const steps = scriptedAgent(await sessions.session(`agent-${agent}`), workOf(agent), counts);
process.on('message', async () => {
  try {
    const { done = false, value } = await steps.next();
    if (value === 'turn' && thinkMs > 0) await setTimeout(thinkMs);
    if (done) await sessions.close();
    process.send?.({ done, counts });
    if (done) process.disconnect();
  } catch (error) {
    process.send?.({ fault: String(error) });
  }
});
process.send?.('ready');
