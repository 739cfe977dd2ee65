import { prepare } from './prepare.mjs';

await prepare();
const { conformance } = await import('./conformance.ts');
const { argumentSuite, OPENAI, OPENAI_PATCH } = await import('./doors/openai.ts');
const { commandSuite } = await import('./doors/openai-commands.ts');

conformance(OPENAI);
conformance(OPENAI_PATCH);
argumentSuite();
commandSuite();
