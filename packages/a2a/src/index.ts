// A2A (Agent2Agent): serves agents to other agents, and runs remote agents. Runs on Node and on Workers.

// Servers
export type { A2AOptions } from './a2a-protocol.ts';
export { a2a } from './a2a-protocol.ts';

// Agent cards
export type { AgentCard, AgentInterface, AgentSkill } from './agent-card.ts';

// Errors
export { A2AConnectionError, A2ALimitError, A2AProtocolError, A2ATaskError } from './errors.ts';
