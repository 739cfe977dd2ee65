export { LookfirstBackend } from './adapters/deepagents.ts';
export { lookfirstMiddleware, lookfirstTools } from './adapters/langchain.ts';
