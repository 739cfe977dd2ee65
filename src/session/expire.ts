import type { World } from '../gate/world.ts';
import { idleSessions } from '../journal/idle-sessions.ts';

/** Forgets the sessions of this workspace that were idle longer than the policy allows, and journals each. */
export async function expireSessions({ store, policy, workspace, now }: World): Promise<void> {
  const atMs = now();
  // Only this workspace's sessions: other workspaces may have other policies.
  const { roots } = workspace;
  for (const { id, root } of await idleSessions(store, atMs - policy.sessionIdleMs, { roots })) {
    const entry = { kind: 'session', atMs, session: id, root, text: 'expired' } as const;
    await store.record({ dropSession: id, entries: [entry] });
  }
}
