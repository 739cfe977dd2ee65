export {
  type AnthropicBlock,
  type AnthropicMemory,
  type AnthropicRequest,
  type AnthropicRun,
  type AnthropicTextEditor,
  type AnthropicTool,
  lookfirstAgentToolset,
  lookfirstMemory,
  lookfirstTextEditor,
  lookfirstTools,
  seenFrom,
} from './adapters/anthropic.ts';
