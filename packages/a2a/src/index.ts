// A2A (Agent2Agent): serves agents to other agents, and runs remote agents. Runs on Node and on Workers.

// Servers
export type { A2AOptions } from './a2a-protocol.ts';
export { a2a } from './a2a-protocol.ts';

// Remote agents
export type { RemoteA2AAgentOptions } from './remote-a2a-agent.ts';
export { RemoteA2AAgent } from './remote-a2a-agent.ts';

// Agent cards
export type { AgentCard, AgentInterface, AgentSkill } from './agent-card.ts';

// Errors
export { A2AConnectionError, A2ALimitError, A2AProtocolError, A2ATaskError } from './errors.ts';
