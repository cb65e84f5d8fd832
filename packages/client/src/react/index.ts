export { useAgent } from './use-agent.ts';
export type { UseAgentOptions, UseAgentResult } from './use-agent.ts';
