// Talking to a server
export { EventloomClient, ClientSession } from './eventloom-client.ts';
export type { AppUser, NewSession, Page, PageOptions } from './eventloom-client.ts';
export type { ClientOptions, ReconnectOptions } from './http.ts';

// Runs
export { ClientRun } from './client-run.ts';
export type { ConnectionState, FollowOptions, RunOptions, ClientRunState } from './client-run.ts';
export { answerPart, filePart } from './messages.ts';
export type { ClientMessage, PersonAnswer } from './messages.ts';

// Chats
export { emptyConversation, endRun, reduceEvents } from './conversation.ts';
export type {
  CallPart,
  Conversation,
  ConversationProgress,
  Message,
  MessagePart,
  PersonRequest,
} from './conversation.ts';

// Errors
export { ConnectionLostError, ServerError } from './errors.ts';
