import { prepare } from './prepare.mjs';

await prepare();
const { conformance } = await import('./conformance.ts');
const { sandboxSuite } = await import('./doors/ai-sandbox.ts');
const { AI_SDK_6, AI_SDK_7 } = await import('./doors/ai-sdk.ts');

conformance(AI_SDK_6);
conformance(AI_SDK_7);
sandboxSuite();
