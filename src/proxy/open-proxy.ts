import { randomBytes } from 'node:crypto';
import { Fault } from '../model/fault.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import type { JsonRecord } from '../model/record.ts';
import { Sessions } from '../session/sessions.ts';
import type { ProxyPlan } from '../tools/proxy-plan.ts';
import { chooseSession, type SessionChoice, subAgentChoice } from '../tools/session-choice.ts';
import { EndSignals } from '../wire/end-signals.ts';
import { HTTP_SESSION } from './front-endpoint.ts';
import type { GateOptions } from './gate-options.ts';
import { runProxy } from './run-proxy.ts';

/** Opens a workspace and runs the proxy over it until either side ends; resolves to the exit code. */
export async function openProxy(options: ProxyPlan): Promise<number> {
  const sessions = await Sessions.open(options.workspace);
  try {
    options.opened(sessions);
    const gate = gateOf(options, sessions);
    if (options.http !== undefined) return await serve(options.http, gate);
    return await runProxy({ ...gate, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
  } finally {
    await sessions.close();
  }
}

type Gate = GateOptions & {
  readonly command?: string;
  readonly args: readonly string[];
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
};

function gateOf(options: ProxyPlan, sessions: Sessions): Gate {
  const { url, headers, unknownTools, receipts, tables } = options;
  const [command, ...args] = options.command;
  const { policy, workspace } = sessions.world;
  return {
    ...(command === undefined ? {} : { command }),
    ...(url === undefined ? {} : { url }),
    args,
    headers,
    unknownTools,
    receipts,
    tables,
    session: sessionChooser(options, sessions),
    wording: policy.wording,
    quotes: policy.quotes,
    root: workspace.roots[0] ?? '',
    rootNames: options.workspace.roots.slice(0, 1),
  };
}

async function serve(
  { port, token, listening }: NonNullable<ProxyPlan['http']>,
  gate: Gate,
): Promise<number> {
  const { serveProxy } = await import('./front-http.ts');
  const used = token ?? randomBytes(24).toString('base64url');
  const front = await serveProxy({
    ...gate,
    ...(port === undefined ? {} : { port }),
    token: used,
    stderr: process.stderr,
  });
  listening({ url: front.url, token: used });
  const signals = new EndSignals(process);
  await signals.first;
  await front.close();
  signals.close();
  return 0;
}

/**
 * Chooses one session per conversation, as our own server does. Each is opened once and closed with
 * the workspace.
 */
function sessionChooser(
  options: ProxyPlan,
  sessions: Sessions,
): (meta: JsonRecord) => Promise<ForeignSession> {
  const open = new Map<string, Promise<ForeignSession>>();
  // An HTTP client did not start this process, so use only our own variable of its environment.
  const env =
    options.http === undefined ? options.env : { LOOKFIRST_SESSION: options.env['LOOKFIRST_SESSION'] };
  const nameless = options.http === undefined ? 'process' : 'call';
  return async (meta) => {
    const hint = meta[HTTP_SESSION];
    const sessionHint = typeof hint === 'string' ? hint : undefined;
    const named = chooseSession({ meta, sessionHint }, { session: options.session, env, nameless });
    const choice = (await subAgentChoice(sessions.world.store, named, meta)) ?? named;
    if (choice.kind === 'invalid') throw new Fault('MISUSE', choice.reason);
    if (choice.kind === 'call') return openForCall(sessions);
    const key = JSON.stringify(choice);
    const found = open.get(key) ?? openFor(sessions, choice);
    open.set(key, found);
    // Retry a session that could not be opened on its next use.
    found.catch(() => open.delete(key));
    return found;
  };
}

async function openFor(sessions: Sessions, choice: SessionChoice): Promise<ForeignSession> {
  const session = await sessions.session(choice.kind === 'named' ? choice.id : undefined);
  return session.foreign();
}

/** Opens a session for one call of a client without a name, so that it shares no sightings with others. */
async function openForCall(sessions: Sessions): Promise<ForeignSession> {
  const session = await sessions.session();
  return session.foreign(() => void session.close());
}
