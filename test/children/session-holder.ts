// Locks a file as a change would, and never releases it.
import type { WorkspaceOptions } from '../../src/session/sessions.ts';
import { Sessions } from '../../src/session/sessions.ts';

const { key, ...options } = JSON.parse(process.argv[2] ?? '') as WorkspaceOptions & { readonly key: string };
const { world } = await Sessions.open(options);
await world.locks.acquire([key], 5000);
process.send?.('held');
setInterval(() => {}, 1000);
