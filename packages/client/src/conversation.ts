import type {
  Blob,
  Event,
  EventActions,
  FileData,
  FunctionCall,
  FunctionResponse,
  FunctionResponsePart,
  Part,
} from '@eventloom/core';
import { recordOf, textOf } from './http.ts';

/** The content of a chat, computed from events by `reduceEvents`. An immutable value. */
export interface Conversation {
  /**
   * The messages in the order in which their first events were added. A message of the user is before those of its run, and a whole reply
   * before the streaming replies of agents beside it.
   */
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
  /** Id of its first event. It stays the same while chunks arrive. It begins with `local-` for a message that an `AgentChat` sent. */
  readonly id: string;
  readonly invocationId: string;
  /** `user`, or the name of the agent. */
  readonly author: string;
  /** Branch of the agent, such as `research.prices`. Absent for agents that run neither in a ParallelAgent nor as a tool. */
  readonly branch?: string | undefined;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly parts: readonly MessagePart[];
  /**
   * `streaming`: more chunks follow. `interrupted`: the user or a failure ended the message early, or it did not
   * match the output schema, so the agent answers again. Of messages that an
   * `AgentChat` sends: `sending` until the server has accepted it, and `failed` if the server refused it, threw or
   * could not be reached, so no agent has read it.
   */
  readonly status: 'streaming' | 'complete' | 'interrupted' | 'sending' | 'failed';
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
   * in a later message, also if a long-running tool has returned a first status, which is in `response`. `failed`: its response has an
   * `error`. `rejected`: a person did not confirm it.
   */
  readonly status: 'streaming' | 'running' | 'waiting' | 'completed' | 'failed' | 'rejected';
  /**
   * Chunks that the tool yielded while it ran, in order. A call that is repeated after the loss of its process adds to those of the lost
   * attempt.
   */
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
  /** Branch of that agent: see `Message`. */
  readonly branch?: string | undefined;
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
  /**
   * Bookkeeping of `reduceEvents`, not for display: the newest event with a response of the call. A run that is
   * followed from a position after the answer has the response, and not the answer.
   */
  readonly responded?: Event;
}

/** See `Conversation.progress`. */
export interface ConversationProgress {
  /** Replies whose chunks came, and whose whole event did not, by agent and branch. */
  readonly open: ReadonlyMap<string, GrowingReply>;
  /**
   * Ids of all events, chunks, replies and long-running calls, and the branches of hidden agents. An event that arrives
   * a second time changes nothing.
   */
  readonly seen: IdSet;
}

interface GrowingReply {
  readonly messageId: string;
  readonly responseId: string | undefined;
  readonly branch: string | undefined;
}

/**
 * An immutable set of ids. Sets that grow from each other share a map of the ids and their numbers, of which each has
 * the first `size`, so that an addition takes the same time however many there are.
 */
interface IdSet {
  readonly numbers: Map<string, number>;
  readonly size: number;
}

function hasId({ numbers, size }: IdSet, id: string): boolean {
  return (numbers.get(id) ?? size) < size;
}

function withId(ids: IdSet, id: string): IdSet {
  if (hasId(ids, id)) return ids;
  const { size } = ids;
  // If another set has grown from this one, the ids are copied.
  const isNewest = size > 0 && ids.numbers.size === size;
  const numbers = isNewest ? ids.numbers : new Map([...ids.numbers].slice(0, size));
  return { numbers: numbers.set(id, size), size: size + 1 };
}

/** The conversation to start with: no messages, no requests and no state. */
export const emptyConversation: Conversation = {
  messages: [],
  requests: [],
  state: {},
  activeAgent: undefined,
  progress: { open: new Map(), seen: { numbers: new Map(), size: 0 } },
};

/**
 * Returns the conversation with further events applied in their order. The given conversation is not changed, and is returned if the events
 * change nothing. Events of a session and of its runs may be mixed: an event that arrives twice counts once, and a message of the user is
 * placed before the newer messages of its run.
 *
 * @example
 * let conversation = reduceEvents(emptyConversation, (await session.get()).events);
 * for await (const event of session.run('Hello')) conversation = reduceEvents(conversation, [event]);
 */
export function reduceEvents(conversation: Conversation, events: Iterable<Event>): Conversation {
  const { messages, progress } = conversation;
  let draft: Draft | undefined;
  for (const event of events) {
    const { id, invocationId, responseId, partial, object = '' } = event;
    const { seen } = (draft ?? conversation).progress;
    const reply = `${invocationId} ${responseId ?? id}`;
    const isHidden = HIDDEN.test(object);
    // A run that is followed from its start sends the chunks of whole replies again.
    if (hasId(seen, id) || (partial && (isHidden || hasId(seen, reply)))) continue;
    draft ??= { ...conversation, messages: [...messages], progress: { open: new Map(progress.open), seen } };
    draft.progress.seen = withId(seen, id);
    // The session has the work of an agent that was called as a tool, which the stream of the run did not show.
    if (object === 'agent.input' && event.tags?.includes('not_streamed'))
      draft.progress.seen = withId(draft.progress.seen, `hidden ${event.branch}`);
    if (partial) addChunk(draft, event);
    else {
      // The output of a graph node has the reply of the agent that it ran, or the id of the event with it.
      const key = keyOf(event);
      const own = reply + key;
      const isRepeated = hasId(seen, reply) && !hasId(seen, own);
      // The reply of an agent in a graph is shown in its chunks, or else in the output of the node.
      if (event.content || draft.progress.open.has(key))
        draft.progress.seen = withId(withId(draft.progress.seen, reply), own);
      addWhole(draft, event, isHidden, isRepeated);
    }
  }
  if (!draft) return conversation;
  const last = draft.messages.findLast(({ author }) => author !== 'user');
  const part = last?.parts.at(-1);
  return { ...draft, activeAgent: part?.type === 'transfer' ? part.agentName : last?.author };
}

/**
 * Returns the key of a reply in `progress.open`. An agent streams one reply at a time on its branch. Its execution is
 * not in the key: an agent that a resumed run runs again has another one.
 */
function keyOf({ invocationId, branch, author }: Event): string {
  return `${invocationId} ${branch} ${author}`;
}

/** Returns the conversation after the end of a run: replies that are still streaming are interrupted. */
export function endRun(conversation: Conversation): Conversation {
  const { messages } = conversation;
  if (!messages.some(({ status }) => status === 'streaming')) return conversation;
  return {
    ...conversation,
    messages: messages.map((message) =>
      message.status === 'streaming' ? { ...message, status: 'interrupted' } : message,
    ),
  };
}

/** Returns what a function call of this name asks a person for; undefined for the calls of tools. (ADK) */
function askedKind(name: string): PersonRequest['kind'] | undefined {
  return (['confirmation', 'credential', 'input'] as const).find((kind) => name === `adk_request_${kind}`);
}

const TRANSFER = 'transfer_to_agent';

/** Kinds of events that a chat does not show. */
const HIDDEN = /^(agent\.(input|transfer)$|runner\.|graph\.node)/;

/** A conversation that is being computed. */
interface Draft extends Omit<Conversation, 'progress'> {
  readonly messages: Message[];
  requests: Conversation['requests'];
  state: Conversation['state'];
  readonly progress: {
    readonly open: Map<string, GrowingReply>;
    seen: IdSet;
  };
}

/** @param isRepeated true if another event has the content of this one */
function addWhole(draft: Draft, event: Event, isHidden: boolean, isRepeated: boolean): void {
  const { actions, errorCode, errorMessage = '', responseId } = event;
  const { rewindBeforeInvocationId: rewound, compaction, transferToAgent } = actions;
  changeState(draft, actions);
  if (rewound) rewind(draft, rewound);
  if (compaction || isHidden) return;
  addResponses(draft, event);
  const parts = isRepeated ? [] : partsOf(event);
  addRequests(draft, event);
  if (isInHiddenAgent(draft, event)) return;
  if (transferToAgent) parts.push({ type: 'transfer', agentName: transferToAgent });
  // After an answer that the output schema refused, the agent answers again, or an event without content has the error.
  if (errorCode && !(errorCode === 'OUTPUT_SCHEMA' && event.content))
    parts.push({ type: 'error', code: errorCode, message: errorMessage });
  // The text of an agent in a graph is in its chunks alone while the run is streamed.
  const isEnd = responseId && draft.progress.open.get(keyOf(event))?.responseId === responseId;
  if (parts.length > 0 || event.interrupted || event.turnComplete || isEnd) addParts(draft, event, parts);
}

/** True for an event of an agent whose work the stream of the run does not show, except for its requests to people. */
function isInHiddenAgent(
  { progress: { seen } }: Draft,
  { branch = '', longRunningToolIds: asked = [] }: Event,
): boolean {
  const names = branch.split('.');
  return !asked[0] && names.some((_, at) => hasId(seen, `hidden ${names.slice(0, at + 1).join('.')}`));
}

function changeState(draft: Draft, { stateDelta, removedState = [] }: EventActions): void {
  const changes = Object.entries(stateDelta).filter(([key]) => !key.startsWith('temp:'));
  if (changes.length + removedState.length === 0) return;
  const state = { ...draft.state, ...Object.fromEntries(changes) };
  for (const key of removedState) delete state[key];
  draft.state = state;
}

function rewind(draft: Draft, rewound: string): void {
  const first = draft.messages.findIndex(({ invocationId }) => invocationId === rewound);
  if (first < 0) return;
  const undone = new Set(draft.messages.splice(first).map(({ invocationId }) => invocationId));
  draft.requests = draft.requests.filter(({ invocationId }) => !undone.has(invocationId));
  draft.progress.open.clear();
}

/** Adds a chunk of a response to its call, or of a message to the message. */
function addChunk(draft: Draft, event: Event): void {
  const responses = responsesOf(event);
  for (const { id, response } of responses) changeCall(draft, event, id, (call) => withProgress(call, response));
  const parts = partsOf(event, 'streaming');
  if (responses.length === 0 && parts.length > 0) addParts(draft, event, parts);
}

/**
 * Adds parts to the message of their reply. Chunks make it grow; a whole event, and a chunk of another reply of the same agent, take its
 * place. An event without parts ends the reply whose chunks were coming.
 */
function addParts(draft: Draft, event: Event, parts: readonly MessagePart[]): void {
  const { messages, progress } = draft;
  const { invocationId, branch, author, partial, responseId, errorCode, interrupted } = event;
  const key = keyOf(event);
  const open = progress.open.get(key);
  const index = open ? messages.findLastIndex(({ id }) => id === open.messageId) : -1;
  const chunks = messages[index];
  const { id, timestamp } = chunks ?? event;
  if (partial) progress.open.set(key, { messageId: id, responseId, branch });
  else progress.open.delete(key);
  if (!chunks && parts.length === 0) return;
  // An error after chunks ends their reply; the text so far was shown, and stays.
  const continues = partial ? open?.responseId === responseId : parts.every(({ type }) => type === 'error');
  const before = (continues && chunks?.parts) || [];
  const ended =
    interrupted || (errorCode && (chunks || parts.some(({ type }) => type !== 'error'))) ? 'interrupted' : 'complete';
  let at = chunks ? index : messages.length;
  if (author === 'user') {
    // A session that is read after a run has the user's message, which the run did not repeat.
    for (let i = at - 1; !chunks && i >= 0 && (messages[i]?.timestamp ?? 0) >= timestamp; i--)
      if (messages[i]?.invocationId === invocationId && messages[i]?.author !== author) at = i;
  } else if (!partial) {
    // Agents side by side begin in one order and end in another, in which the session has them.
    const isOpen = (each?: Message): boolean =>
      each?.status === 'streaming' && each.invocationId === invocationId && each.author !== 'user';
    while (isOpen(messages[at - 1])) at--;
  }
  if (chunks) messages.splice(index, 1);
  messages.splice(at, 0, {
    id,
    invocationId,
    author,
    branch,
    timestamp,
    parts: partial ? joinParts(before, parts) : [...before, ...parts],
    status: partial ? 'streaming' : ended,
  });
}

function addResponses(draft: Draft, event: Event): void {
  const { timestamp, branch } = event;
  for (const response of responsesOf(event)) {
    endReplies(draft, response);
    const { id } = response;
    const answered = draft.requests.find((each) => each.id === id);
    const waiting = draft.requests.filter((each) => each.id !== id);
    // A long-running tool returns a first status. Its result comes in a message.
    const isFirst = event.author !== 'user' && hasId(draft.progress.seen, `later ${branch} ${id}`);
    const isAbout = (each: PersonRequest): boolean => each.callId === id && each.branch === branch;
    draft.requests = waiting.map((each) => (isAbout(each) ? { ...each, responded: event } : each));
    if (answered) {
      const { confirmed, error } = response.response ?? {};
      // A request with an error was cancelled, together with its call.
      if (!error && !isFirst)
        changeCall(draft, answered, answered.callId, (call) => ({
          ...call,
          status: confirmed === false ? 'rejected' : 'running',
          startedAt: timestamp,
        }));
      const { responded = event } = answered;
      if (error || responded.timestamp > timestamp) addResponses(draft, responded);
    }
    // A tool that asks the person returns before the answer, and is then run again.
    if (waiting.some(isAbout)) continue;
    changeCall(draft, event, id, (call) => withResponse(call, response, timestamp, isFirst ? 'waiting' : 'completed'));
  }
}

/**
 * Ends the replies of an agent that was called as a tool: their whole events are not in the stream of the run. A whole
 * event that is read later takes their place.
 */
function endReplies({ messages, progress }: Draft, { id = '', response }: FunctionResponse): void {
  // The branch of the agent has the id of the call.
  const place = `@${encodeURIComponent(id).replaceAll('.', '%2E')}.`;
  const status = response && Object.hasOwn(response, 'error') ? 'interrupted' : 'complete';
  for (const { messageId, branch } of progress.open.values()) {
    if (!`${branch}.`.includes(place)) continue;
    const index = messages.findLastIndex((message) => message.id === messageId);
    const message = messages[index];
    if (message?.status === 'streaming') messages[index] = { ...message, status };
  }
}

function addRequests(draft: Draft, event: Event): void {
  for (const { functionCall: call } of event.content?.parts ?? []) {
    const request = call && requestOf(event, call);
    if (!request || draft.requests.some(({ id }) => id === request.id)) continue;
    draft.requests = [...draft.requests, request];
    if (request.kind === 'call')
      draft.progress.seen = withId(draft.progress.seen, `later ${event.branch} ${request.id}`);
    changeCall(draft, request, request.callId, (call) => ({ ...call, status: 'waiting' }));
  }
}

/** Changes a call. @param branch its branch, because agents side by side may number their calls alike */
function changeCall(
  { messages }: Draft,
  { branch }: { readonly branch?: string | undefined },
  id: string | undefined,
  change: (call: CallPart) => CallPart,
): void {
  const isCalled = (part: MessagePart): part is CallPart => part.type === 'call' && part.id === id;
  // A response comes soon after its call, in most cases.
  let index = messages.findLastIndex((each) => each.branch === branch && each.parts.some(isCalled));
  // That of a client may name no branch.
  if (index < 0) index = messages.findLastIndex(({ parts }) => parts.some(isCalled));
  const message = messages[index];
  if (message)
    messages[index] = { ...message, parts: message.parts.map((part) => (isCalled(part) ? change(part) : part)) };
}

function responsesOf({ content }: Event): readonly FunctionResponse[] {
  return content?.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
}

/** Returns the parts that a chat shows. Requests to a person, transfers and responses of tools are shown elsewhere. */
function partsOf(event: Event, status?: 'streaming'): MessagePart[] {
  const { longRunningToolIds: waiting } = event;
  const { text } = event.inputTranscription ?? event.outputTranscription ?? {};
  const spoken = text ? [{ text }] : [];
  return [...(event.content?.parts ?? []), ...spoken].flatMap((part: Part): MessagePart[] => {
    const { functionCall, inlineData, fileData, executableCode, codeExecutionResult } = part;
    if (functionCall) {
      const { id = '', name = '', args = {} } = functionCall;
      if (name === TRANSFER || askedKind(name)) return [];
      const now = status ?? (waiting?.includes(id) ? 'waiting' : 'running');
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

function requestOf(event: Event, { id = '', name = '', args = {} }: FunctionCall): PersonRequest | undefined {
  const { invocationId, author, branch, longRunningToolIds } = event;
  const kind = askedKind(name) ?? (longRunningToolIds?.includes(id) ? 'call' : undefined);
  if (!kind) return undefined;
  const request = { id, name, kind, invocationId, author, branch };
  // The arguments of these calls are those of their tool.
  if (kind === 'call') return { ...request, callId: id, args };
  const original = recordOf(args['originalFunctionCall']);
  const { hint, payload } = recordOf(args['toolConfirmation']) ?? {};
  return {
    ...request,
    callId: textOf(original?.['id'] ?? args['functionCallId']),
    message: textOf(hint ?? args['message']),
    payload: payload ?? args['payload'],
    args: recordOf(original?.['args']),
    authConfig: recordOf(args['authConfig']),
    responseSchema: recordOf(args['response_schema']),
  };
}

function withProgress(call: CallPart, response: Readonly<Record<string, unknown>> | undefined): CallPart {
  // A run that is followed again sends the chunks of calls that have ended.
  if (call.endedAt !== undefined) return call;
  const chunk = response && 'output' in response ? response['output'] : response;
  return { ...call, progress: [...call.progress, chunk] };
}

function withResponse(
  call: CallPart,
  { response = {}, parts }: FunctionResponse,
  endedAt: number,
  succeeded: 'waiting' | 'completed',
): CallPart {
  const failed = call.status === 'rejected' ? 'rejected' : 'failed';
  const status = Object.hasOwn(response, 'error') ? failed : succeeded;
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
