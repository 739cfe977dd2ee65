import { prepare } from './prepare.mjs';

await prepare();
const { hooksSuite } = await import('./doors/claude-agent-sdk.ts');

hooksSuite();
