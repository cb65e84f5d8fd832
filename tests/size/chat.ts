export { EventloomClient } from '@eventloom/client';
export { AgentChat } from '@eventloom/client/chat';
