import { resolve } from 'node:path';
import type { GatedSession } from '../session/gated-session.ts';
import type { HookEvent, HookReply, HostName } from './event.ts';
import { HOOK_HOSTS } from './hosts/hook-hosts.ts';
import { respond } from './respond.ts';

/** The hooks of a program that holds the session itself. They need no process, socket or configuration. */
export function respondIn(session: GatedSession, host: HostName): (event: HookEvent) => Promise<HookReply> {
  return (event) => {
    const { policy, roots, home } = session;
    const cwd = resolve(roots[0] ?? '/', event.cwd ?? '.');
    return respond({ host: HOOK_HOSTS[host], session, policy, roots, cwd, home, shell: 'plain' }, event);
  };
}
