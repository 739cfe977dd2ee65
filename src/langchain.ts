export { LookfirstBackend, lookfirstMiddleware, lookfirstTools } from './adapters/langchain.ts';
