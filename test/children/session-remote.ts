// Runs a session as a process for its parent: one JSON call in, one JSON answer out, in turn.
import { Fault } from '../../src/model/fault.ts';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { openSession, type SessionOptions } from '../../src/session/sessions.ts';

interface Call {
  readonly method: string;
  readonly args: readonly unknown[];
}

const options = JSON.parse(process.argv[2] ?? '') as SessionOptions;
const session = await openSession(options);
let turn: Promise<unknown> = Promise.resolve();
process.on('message', (text: string) => {
  turn = turn.then(async () => {
    const call = JSON.parse(text) as Call;
    process.send?.(await answer(call));
    if (call.method === 'close') process.disconnect();
  });
});
process.send?.({ id: session.id });

async function answer({ method, args }: Call): Promise<object> {
  try {
    // The cast is safe: the parent names an existing method and passes arguments that fit.
    const work = session[method as keyof GatedSession] as (...given: unknown[]) => unknown;
    const value = await work.apply(session, [...args]);
    return { value: value ?? null };
  } catch (error) {
    if (error instanceof Fault) return { fault: { code: error.code, message: error.message } };
    return { fault: { code: 'BUG', message: String(error) } };
  }
}
