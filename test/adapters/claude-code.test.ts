import { prepareClaude } from './prepare.mjs';

await prepareClaude();
const { conformance } = await import('./conformance.ts');
const { CLAUDE_SERVER, claudeCodeSuite } = await import('./doors/claude-agent-sdk.ts');
const { runsExample } = await import('./run-example.ts');

conformance(CLAUDE_SERVER);
claudeCodeSuite();
runsExample('claude-agent-sdk.mjs');
