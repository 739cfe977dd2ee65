export {
  lookfirstSandbox,
  RefusedError,
  type Sandbox,
  type SandboxCommands,
  type SandboxProcess,
  type WritableSandboxProcess,
} from './adapters/ai-sandbox.ts';
export {
  type AiOutput,
  type AiSchema,
  type AiStep,
  type AiTool,
  lookfirstTools,
  seenFrom,
} from './adapters/ai-sdk.ts';
