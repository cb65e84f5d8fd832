import type {
  Blob,
  Event,
  FileData,
  FunctionCall,
  FunctionResponse,
  FunctionResponsePart,
  Part,
} from '@eventloom/core';
import { recordOf } from './http.ts';

/** The content of a chat, computed from events by `reduceEvents`. An immutable value. */
export interface Conversation {
  /** The messages in the order in which they began. */
  readonly messages: readonly Message[];
  /** Requests to the person that are not answered yet, oldest first. */
  readonly requests: readonly PersonRequest[];
  /** The state that the events wrote: new values by key. */
  readonly state: Readonly<Record<string, unknown>>;
  /** Name of the agent that spoke last or that control was transferred to; undefined at the beginning. */
  readonly activeAgent: string | undefined;
  /** Bookkeeping of `reduceEvents`. Not for display. */
  readonly progress: ConversationProgress;
}

/** A message of a person or of an agent. An unchanged message stays the same object after `reduceEvents`. */
export interface Message {
  /** Id of its first event. It stays the same while chunks arrive. */
  readonly id: string;
  readonly invocationId: string;
  /** `user`, or the name of the agent. */
  readonly author: string;
  /** Branch of the agent, such as `research.prices`. Absent for agents that run neither in a ParallelAgent nor as a tool. */
  readonly branch?: string | undefined;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly parts: readonly MessagePart[];
  /** `streaming`: more chunks follow. `interrupted`: the user or a failure ended the message early. */
  readonly status: 'streaming' | 'complete' | 'interrupted';
}

/** A part of a message: a text, a thought, a file, or a tool call. */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | CallPart
  | { readonly type: 'media'; readonly inlineData: Blob }
  | { readonly type: 'file'; readonly fileData: FileData }
  | { readonly type: 'code'; readonly code: string; readonly language?: string | undefined }
  | { readonly type: 'code-result'; readonly output: string; readonly isError: boolean }
  /** Control moved to another agent. */
  | { readonly type: 'transfer'; readonly agentName: string }
  | { readonly type: 'error'; readonly code: string; readonly message: string };

/** A tool call with its arguments, progress and response. */
export interface CallPart {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /**
   * `streaming`: its arguments are still streamed. `running`: it has no response yet. `waiting`: it waits for a person, or for a response
   * in a later message. `failed`: its response has an `error`. `rejected`: a person did not confirm it.
   */
  readonly status: 'streaming' | 'running' | 'waiting' | 'completed' | 'failed' | 'rejected';
  /** Chunks that the tool yielded while it ran, in order. */
  readonly progress: readonly unknown[];
  readonly response?: Readonly<Record<string, unknown>>;
  /** Files and images that the tool returned. */
  readonly parts?: readonly FunctionResponsePart[] | undefined;
  /** Time of the call, or of the answer of a person that it waited for, in seconds since the epoch. */
  readonly startedAt: number;
  /** Time of the response, in seconds since the epoch. Absent if there is none yet. */
  readonly endedAt?: number;
}

/** A request to the person, for a confirmation, a credential, an input or a result. `answerPart(request, answer)` creates the answer. */
export interface PersonRequest {
  /** Id of the function call that asks. */
  readonly id: string;
  /** Name of the function call that asks. */
  readonly name: string;
  /** Kind of the answer. `call`: the result of a tool of the client, or of a long-running tool, which the client sends. */
  readonly kind: 'confirmation' | 'credential' | 'input' | 'call';
  readonly invocationId: string;
  /** Name of the agent that asks. */
  readonly author: string;
  /** Id of the tool call that the request is about. Absent if the agent itself asks. */
  readonly callId?: string | undefined;
  /** Text to show to the person. Absent if there is none. */
  readonly message?: string | undefined;
  /** Further JSON data of the tool or the agent. */
  readonly payload?: unknown;
  /** JSON Schema of the answer to a request for input. */
  readonly responseSchema?: Readonly<Record<string, unknown>> | undefined;
  /** For a credential: the `AuthConfig`, with the page on which the person consents or logs in. */
  readonly authConfig?: Readonly<Record<string, unknown>> | undefined;
  /** Arguments of the call to confirm, or of the call whose result the client sends. */
  readonly args?: Readonly<Record<string, unknown>> | undefined;
}

/** See `Conversation.progress`. */
export interface ConversationProgress {
  /** Replies that are still streamed, by execution: the id of the message, and the id of the reply. */
  readonly open: ReadonlyMap<string, { readonly messageId: string; readonly responseId: string | undefined }>;
  /** Ids of all events and replies. An event that arrives a second time changes nothing. */
  readonly seen: ReadonlySet<string>;
}

/** The conversation to start with: no messages, no requests and no state. */
export const emptyConversation: Conversation = {
  messages: [],
  requests: [],
  state: {},
  activeAgent: undefined,
  progress: { open: new Map(), seen: new Set() },
};

/**
 * Returns the conversation with further events applied in their order. The given conversation is not changed. Events of a session and of
 * its runs may be mixed: an event that arrives twice counts once.
 *
 * @example
 * let conversation = reduceEvents(emptyConversation, (await session.get()).events);
 * for await (const event of session.run('Hello')) conversation = reduceEvents(conversation, [event]);
 */
export function reduceEvents(conversation: Conversation, events: Iterable<Event>): Conversation {
  const reducer = new ConversationReducer(conversation);
  for (const event of events) reducer.add(event);
  return reducer.result();
}

/** Returns the conversation after the end of a run: replies that are still streaming are interrupted. */
export function endRun(conversation: Conversation): Conversation {
  const { open } = conversation.progress;
  if (open.size === 0) return conversation;
  const ids = new Set(Array.from(open.values(), ({ messageId }) => messageId));
  const messages = conversation.messages.map((message) =>
    ids.has(message.id) ? { ...message, status: 'interrupted' as const } : message,
  );
  return { ...conversation, messages, progress: { ...conversation.progress, open: new Map() } };
}

/** The names of function calls that ask a person. (ADK) */
const PERSON_REQUESTS: Readonly<Record<string, PersonRequest['kind']>> = {
  adk_request_confirmation: 'confirmation',
  adk_request_credential: 'credential',
  adk_request_input: 'input',
};
const TRANSFER = 'transfer_to_agent';

/** Kinds of events that a chat does not show. */
const HIDDEN = /^(agent\.(input|transfer)|runner\.(completion|end|streamed)|graph\.node\..*)$/;

class ConversationReducer {
  readonly #messages: Message[];
  #requests: readonly PersonRequest[];
  #state: Readonly<Record<string, unknown>>;
  #activeAgent: string | undefined;
  readonly #open: Map<string, { messageId: string; responseId: string | undefined }>;
  #seen: ReadonlySet<string>;
  /** The set that `#seen` is, once it is not that of the given conversation. Chunks need none of their own. */
  #ownSeen: Set<string> | undefined;

  constructor({ messages, requests, state, activeAgent, progress }: Conversation) {
    this.#messages = [...messages];
    this.#requests = requests;
    this.#state = state;
    this.#activeAgent = activeAgent;
    this.#open = new Map(progress.open);
    this.#seen = progress.seen;
  }

  result(): Conversation {
    return {
      messages: this.#messages,
      requests: this.#requests,
      state: this.#state,
      activeAgent: this.#activeAgent,
      progress: { open: this.#open, seen: this.#seen },
    };
  }

  add(event: Event): void {
    if (this.#seen.has(event.id)) return;
    const isShown = event.object === undefined || !HIDDEN.test(event.object);
    const reply = `${event.invocationId} ${event.responseId}`;
    // A run that is followed from its start sends the chunks of whole replies again.
    if (event.partial === true) return isShown && !this.#seen.has(reply) ? this.#addChunk(event) : undefined;
    this.#seen = this.#ownSeen ??= new Set(this.#seen);
    this.#ownSeen.add(event.id);
    if (event.responseId !== undefined) this.#ownSeen.add(reply);
    this.#changeState(event);
    const { rewindBeforeInvocationId: rewound, compaction, transferToAgent } = event.actions;
    const { errorCode, errorMessage = '' } = event;
    if (rewound !== undefined) this.#rewind(rewound);
    if (compaction !== undefined || !isShown) return;
    this.#addResponses(event);
    const parts = partsOf(event);
    this.#addRequests(event);
    if (transferToAgent !== undefined) parts.push({ type: 'transfer', agentName: transferToAgent });
    if (errorCode !== undefined) parts.push({ type: 'error', code: errorCode, message: errorMessage });
    if (parts.length > 0 || event.interrupted || event.turnComplete) this.#complete(event, parts);
    if (transferToAgent !== undefined) this.#activeAgent = transferToAgent;
    else if (event.author !== 'user' && parts.length > 0) this.#activeAgent = event.author;
  }

  #changeState({ actions: { stateDelta, removedState } }: Event): void {
    const changes = Object.entries(stateDelta).filter(([key]) => !key.startsWith('temp:'));
    if (changes.length === 0 && !removedState?.length) return;
    const state = new Map([...Object.entries(this.#state), ...changes]);
    for (const key of removedState ?? []) state.delete(key);
    this.#state = Object.fromEntries(state);
  }

  #rewind(invocationId: string): void {
    const first = this.#messages.findIndex((message) => message.invocationId === invocationId);
    if (first < 0) return;
    const undone = new Set(this.#messages.splice(first).map((message) => message.invocationId));
    this.#requests = this.#requests.filter((request) => !undone.has(request.invocationId));
    this.#open.clear();
  }

  /** Adds a chunk to the reply it belongs to. A chunk of another reply of the same agent takes the place of one that was not completed. */
  #addChunk(event: Event): void {
    const responses = responsesOf(event);
    for (const { id, response } of responses) this.#changeCall(id, (call) => withProgress(call, response));
    if (responses.length > 0) return;
    const added = partsOf(event, 'streaming');
    if (added.length === 0) return;
    const key = replyKey(event);
    const { responseId } = event;
    const index = this.#openIndex(event);
    const message = this.#messages[index];
    if (message && this.#open.get(key)?.responseId === responseId) {
      this.#messages[index] = { ...message, parts: joinParts(message.parts, added) };
      return;
    }
    if (message) this.#messages.splice(index, 1);
    this.#messages.push(messageOf(event, joinParts([], added), 'streaming'));
    this.#open.set(key, { messageId: event.id, responseId });
    if (event.author !== 'user') this.#activeAgent = event.author;
  }

  /** Adds a whole message, in the place of its chunks. An event without parts ends the reply whose chunks were coming. */
  #complete(event: Event, parts: readonly MessagePart[]): void {
    const index = this.#openIndex(event);
    this.#open.delete(replyKey(event));
    const chunks = this.#messages[index];
    const message = messageOf(event, parts, event.interrupted ? 'interrupted' : 'complete');
    // An error after chunks ends their reply; the text so far was shown, and stays.
    if (chunks && parts.every(({ type }) => type === 'error'))
      this.#messages[index] = {
        ...chunks,
        parts: [...chunks.parts, ...parts],
        status: parts.length > 0 ? 'interrupted' : message.status,
      };
    else if (chunks) this.#messages[index] = { ...message, id: chunks.id, timestamp: chunks.timestamp };
    else if (parts.length > 0) this.#messages.push(message);
  }

  #addResponses(event: Event): void {
    for (const response of responsesOf(event)) {
      const answered = this.#requests.find(({ id }) => id === response.id);
      if (answered) this.#requests = this.#requests.filter((request) => request !== answered);
      const status = response.response?.['confirmed'] === false ? 'rejected' : 'running';
      this.#changeCall(answered?.callId, (call) => ({ ...call, status, startedAt: event.timestamp }));
      // A tool that asks the person returns before the answer, and is then run again.
      if (!this.#requests.some(({ callId }) => callId === response.id))
        this.#changeCall(response.id, (call) => withResponse(call, response, event.timestamp));
    }
  }

  #addRequests(event: Event): void {
    const waiting = new Set(event.longRunningToolIds);
    for (const { functionCall: call } of event.content?.parts ?? []) {
      const request = call && requestOf(event, call, waiting);
      if (!request || this.#requests.some(({ id }) => id === request.id)) continue;
      this.#requests = [...this.#requests, request];
      this.#changeCall(request.callId, (call) => ({ ...call, status: 'waiting' }));
    }
  }

  #changeCall(id: string | undefined, change: (call: CallPart) => CallPart): void {
    if (id === undefined) return;
    const isCalled = (part: MessagePart): part is CallPart => part.type === 'call' && part.id === id;
    // A response comes soon after its call, in most cases.
    const index = this.#messages.findLastIndex(({ parts }) => parts.some(isCalled));
    const message = this.#messages[index];
    if (message)
      this.#messages[index] = {
        ...message,
        parts: message.parts.map((part) => (isCalled(part) ? change(part) : part)),
      };
  }

  /** Returns the index of the message of this reply whose chunks are coming; -1 without one. */
  #openIndex(event: Event): number {
    const open = this.#open.get(replyKey(event));
    return open ? this.#messages.findLastIndex(({ id }) => id === open.messageId) : -1;
  }
}

/** Returns the key of a reply: an agent streams one reply at a time in each of its executions, and the user's messages have their own keys. */
function replyKey({ invocationId, executionId, branch, author }: Event): string {
  return JSON.stringify([invocationId, executionId ?? branch, author]);
}

function messageOf(event: Event, parts: readonly MessagePart[], status: Message['status']): Message {
  const { id, invocationId, author, branch, timestamp } = event;
  return { id, invocationId, author, branch, timestamp, parts, status };
}

function responsesOf({ content }: Event): readonly FunctionResponse[] {
  return content?.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
}

/** Returns the parts that a chat shows. Requests to a person, transfers and responses of tools are shown elsewhere. */
function partsOf(event: Event, status?: 'streaming'): MessagePart[] {
  const waiting = new Set(event.longRunningToolIds);
  const { text } = event.inputTranscription ?? event.outputTranscription ?? {};
  const spoken = text ? [{ text }] : [];
  return [...(event.content?.parts ?? []), ...spoken].flatMap((part: Part): MessagePart[] => {
    const { functionCall, inlineData, fileData, executableCode, codeExecutionResult } = part;
    if (functionCall) {
      const { id = '', name = '', args = {} } = functionCall;
      if (name === TRANSFER || Object.hasOwn(PERSON_REQUESTS, name)) return [];
      const now = status ?? (waiting.has(id) ? 'waiting' : 'running');
      return [{ type: 'call', id, name, args, status: now, progress: [], startedAt: event.timestamp }];
    }
    // Speech is played, not shown.
    if (inlineData) return inlineData.mimeType?.startsWith('audio/pcm') ? [] : [{ type: 'media', inlineData }];
    if (fileData) return [{ type: 'file', fileData }];
    if (executableCode) {
      const { code = '', language } = executableCode;
      return [{ type: 'code', code, language }];
    }
    if (codeExecutionResult) {
      const { output = '', outcome } = codeExecutionResult;
      return [{ type: 'code-result', output, isError: outcome !== 'OUTCOME_OK' }];
    }
    if (!part.text) return [];
    return [{ type: part.thought ? 'thought' : 'text', text: part.text }];
  });
}

function requestOf(event: Event, call: FunctionCall, waiting: ReadonlySet<string>): PersonRequest | undefined {
  const { id = '', name = '', args = {} } = call;
  const kind = PERSON_REQUESTS[name] ?? (waiting.has(id) ? 'call' : undefined);
  if (kind === undefined) return undefined;
  const isCall = kind === 'call';
  // The arguments of other calls are those of their tool.
  const asked = isCall ? {} : args;
  const original = recordOf(asked['originalFunctionCall']);
  const confirmation = recordOf(asked['toolConfirmation']);
  return {
    id,
    name,
    kind,
    invocationId: event.invocationId,
    author: event.author,
    callId: isCall ? id : textOf(original?.['id'] ?? asked['functionCallId']),
    message: textOf(confirmation?.['hint'] ?? asked['message']),
    payload: confirmation?.['payload'] ?? asked['payload'],
    args: isCall ? args : recordOf(original?.['args']),
    authConfig: recordOf(asked['authConfig']),
    responseSchema: recordOf(asked['response_schema']),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function withProgress(call: CallPart, response: Readonly<Record<string, unknown>> | undefined): CallPart {
  const chunk = response && 'output' in response ? response['output'] : response;
  return { ...call, progress: [...call.progress, chunk] };
}

function withResponse(call: CallPart, { response = {}, parts }: FunctionResponse, endedAt: number): CallPart {
  const failed = call.status === 'rejected' ? 'rejected' : 'failed';
  const status = Object.hasOwn(response, 'error') ? failed : 'completed';
  return { ...call, status, response, endedAt, parts };
}

/** Appends parts of a chunk: text joins text of the same kind, and a call takes the place of its earlier chunks. */
function joinParts(parts: readonly MessagePart[], added: readonly MessagePart[]): readonly MessagePart[] {
  const joined = [...parts];
  for (const part of added) {
    const last = joined.at(-1);
    const index = joined.findIndex((other) => part.type === 'call' && other.type === 'call' && other.id === part.id);
    if ((part.type === 'text' || part.type === 'thought') && last?.type === part.type)
      joined[joined.length - 1] = { ...part, text: last.text + part.text };
    else if (index >= 0) joined[index] = part;
    else joined.push(part);
  }
  return joined;
}
