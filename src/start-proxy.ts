import { randomBytes } from 'node:crypto';
import { givenToken, tokenLine } from './cli/given-token.ts';
import { keepOutOfReach } from './cli/policy-place.ts';
import type { ProxyPlan } from './cli/proxy-plan.ts';
import { GatedForeign } from './gate/foreign/gated-foreign.ts';
import { EndSignals } from './mcp/end-signals.ts';
import { chooseSession, type SessionChoice } from './mcp/session-choice.ts';
import { Fault } from './model/fault.ts';
import type { JsonRecord } from './model/record.ts';
import { HTTP_SESSION } from './proxy/front-endpoint.ts';
import { runProxy } from './proxy/run-proxy.ts';
import { Sessions } from './session/sessions.ts';

/** Brings the proxy together with a workspace and the choice of sessions, and runs it to its end. */
export async function startProxy(plan: ProxyPlan): Promise<number> {
  const sessions = await Sessions.open(plan.workspace);
  try {
    if (plan.policyPath !== undefined) keepOutOfReach(sessions, plan.policyPath);
    const { policy, workspace } = sessions.world;
    const gate = {
      ...optionsOf(plan),
      session: sessionChooser(plan, sessions),
      wording: policy.wording,
      root: workspace.roots[0] ?? '',
      rootNames: plan.workspace.roots.slice(0, 1),
    };
    if (plan.http !== undefined) return await serve(plan, gate);
    return await runProxy({ ...gate, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
  } finally {
    await sessions.close();
  }
}

type Gate = ReturnType<typeof optionsOf> & {
  readonly session: (meta: JsonRecord) => Promise<GatedForeign>;
  readonly wording: Sessions['world']['policy']['wording'];
  readonly root: string;
  readonly rootNames: readonly string[];
};

function optionsOf({
  command: [command, ...args],
  url,
  headers,
  unknownTools,
  receipts,
  tables,
}: ProxyPlan): {
  command?: string;
  args: readonly string[];
  url?: string;
  headers: ProxyPlan['headers'];
  unknownTools: ProxyPlan['unknownTools'];
  receipts: boolean;
  tables: ProxyPlan['tables'];
} {
  return {
    ...(command === undefined ? {} : { command }),
    ...(url === undefined ? {} : { url }),
    args,
    headers,
    unknownTools,
    receipts,
    tables,
  };
}

async function serve(plan: ProxyPlan, gate: Gate): Promise<number> {
  const { serveProxy } = await import('./proxy/front-http.ts');
  const given = givenToken(plan.env);
  const token = given ?? randomBytes(24).toString('base64url');
  const front = await serveProxy({ ...gate, ...plan.http, token, stderr: process.stderr });
  plan.log(`serving at ${front.url}`);
  plan.log(tokenLine(token, given));
  const signals = new EndSignals(process);
  await signals.first;
  await front.close();
  signals.close();
  return 0;
}

/** A session per conversation, as for our own server; each is opened once and closed with the workspace. */
function sessionChooser(plan: ProxyPlan, sessions: Sessions): (meta: JsonRecord) => Promise<GatedForeign> {
  const open = new Map<string, Promise<GatedForeign>>();
  // Over HTTP whoever connects is not whoever started us: of the environment only our own variable counts.
  const env = plan.http === undefined ? plan.env : { LOOKFIRST_SESSION: plan.env['LOOKFIRST_SESSION'] };
  return async (meta) => {
    const hint = meta[HTTP_SESSION];
    const sessionHint = typeof hint === 'string' ? hint : undefined;
    const choice = chooseSession({ meta, sessionHint }, { session: plan.session, env });
    if (choice.kind === 'invalid') throw new Fault('MISUSE', choice.reason);
    const key = JSON.stringify(choice);
    const found = open.get(key) ?? openFor(sessions, choice);
    open.set(key, found);
    // One that could not be opened is tried again.
    found.catch(() => open.delete(key));
    return found;
  };
}

async function openFor(sessions: Sessions, choice: SessionChoice): Promise<GatedForeign> {
  const session = await sessions.session(choice.kind === 'named' ? choice.id : undefined);
  return new GatedForeign(sessions.world, session);
}
