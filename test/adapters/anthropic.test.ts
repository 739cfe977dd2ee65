import { prepare } from './prepare.mjs';

await prepare();
const { conformance } = await import('./conformance.ts');
const { AGENT_TOOLSET, ANTHROPIC, MEMORY, memorySuite, TEXT_EDITOR } = await import('./doors/anthropic.ts');

conformance(ANTHROPIC);
conformance(TEXT_EDITOR);
conformance(MEMORY);
conformance(AGENT_TOOLSET);
memorySuite();
