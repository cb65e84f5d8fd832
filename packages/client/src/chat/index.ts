export { AgentChat } from './agent-chat.ts';
export type { AgentChatOptions, ChatSnapshot } from './agent-chat.ts';
