export {
  type AnthropicBlock,
  type AnthropicRequest,
  type AnthropicRun,
  type AnthropicTool,
  lookfirstTools,
  seenFrom,
} from './adapters/anthropic.ts';
