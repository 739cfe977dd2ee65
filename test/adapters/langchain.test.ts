import { prepare } from './prepare.mjs';

await prepare();
const { conformance } = await import('./conformance.ts');
const { argumentSuite, backendSuite, DEEPAGENTS, LANGCHAIN } = await import('./doors/langchain.ts');

conformance(LANGCHAIN);
conformance(DEEPAGENTS);
argumentSuite();
backendSuite();
