import { prepare } from './prepare.ts';

await prepare();
const { conformance } = await import('./conformance.ts');
const { ANTHROPIC } = await import('./doors/anthropic.ts');

conformance(ANTHROPIC);
