// Names that other packages of Eventloom need of A2A. Not for users: it may change in every version. Loads no server.

export { RemoteA2AAgent } from '../remote-a2a-agent.ts';
export type { RemoteA2AAgentOptions, UnfinishedTask } from '../remote-a2a-agent.ts';
export { AGENT_CARD_PATH, NO_JSON_RPC, readEndpoint } from '../agent-card.ts';
export { toA2AParts, toPart } from '../parts.ts';
export type { A2ASendRequest, A2AUpdate } from '../wire.ts';
export { readMessage, readUpdate, toLegacyMessage, toLegacyUpdate } from '../wire.ts';
export { CONTEXT_ID, TASK_ID, TaskView } from '../task-view.ts';
export { A2AProtocolError, A2ATaskError } from '../errors.ts';
export { runMetadataOf } from '../hops.ts';
