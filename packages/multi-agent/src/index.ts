// Agents that work together: workflow agents, hand-overs between agents, and agents as tools.

export type { AgentToolConfig } from './agent-tool.ts';
export { AgentTool, GROUNDING_METADATA_KEY } from './agent-tool.ts';
export { exitLoop, ExitLoopTool, LoopAgent } from './loop-agent.ts';
export type { LoopAgentConfig } from './loop-agent.ts';
export type { ParallelAgentConfig } from './parallel-agent.ts';
export { ParallelAgent } from './parallel-agent.ts';
export type { SequentialAgentConfig } from './sequential-agent.ts';
export { SequentialAgent } from './sequential-agent.ts';
export { transferInstruction, transferTargets } from './transfer-targets.ts';
export { TransferToAgentTool } from './transfer-to-agent-tool.ts';
