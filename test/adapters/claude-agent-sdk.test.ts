import { prepare } from './prepare.ts';

await prepare();
const { conformance } = await import('./conformance.ts');
const { CLAUDE_SERVER, hooksSuite } = await import('./doors/claude-agent-sdk.ts');

conformance(CLAUDE_SERVER);
hooksSuite();
