import { prepare } from './prepare.mjs';

await prepare();
const { conformance } = await import('./conformance.ts');
const { CLAUDE_SERVER, hooksSuite } = await import('./doors/claude-agent-sdk.ts');

conformance(CLAUDE_SERVER);
hooksSuite();
