import {
  type BaseAgent,
  type Content,
  type Event,
  type FunctionResponse,
  type Part,
  type BaseLlm,
  getFunctionResponses,
  type InvocationContext,
  type ModelCapabilities,
  ObjectType,
} from '@eventloom/core';
import {
  DerivedKey,
  type DerivedValues,
  type SessionCall,
  Calls,
  callsToRun,
  hasResponses,
  INTERRUPTED_CALL,
  isPersonRequest,
  isQuestionOfModel,
  branchInScope,
  isVisibleAcrossNodes,
  isVisibleOn,
  moveResponseParts,
  NO_PARTS,
  reportsLostCalls,
} from '@eventloom/core/internal';
import { effectiveEvents } from '../compaction/effective-history.ts';
import type { CodeStyle } from '../code-execution/code-contents.ts';
import {
  isFrameworkPart,
  isOutputMismatch,
  type Spoken,
  toModelContent,
  toSpokenContent,
  transcriptionOf,
  withoutClientId,
  rewritesHistory,
} from './event-content.ts';

/** The parts of an invocation context that the contents depend on. */
type View = Pick<InvocationContext, 'agent' | 'branch' | 'invocation'> &
  Partial<Pick<InvocationContext, 'isolationScope'>>;

/**
 * Returns the contents of a session as the agent's model sees them. The ContentsBuilder is cached with the session's events, until
 * the agent gets a model that reads other media in function responses.
 * @param include `none` for the contents of the current turn only
 */
export function sessionContents(
  view: View,
  model?: BaseLlm,
  codeStyle?: CodeStyle,
  include: 'default' | 'none' = 'default',
): Content[] {
  const { agent, branch, isolationScope: scope, invocation } = view;
  const { session, derived, resumedLog, invocationId } = invocation;
  const isTask = 'mode' in agent && agent.mode === 'task';
  const seesConversation = 'seesConversation' in agent && agent.seesConversation === true;
  const readsNodes = isTask || seesConversation || invocation.readsNodes;
  if (include === 'none') return currentTurnContents(view, { ...optionsOf(model, codeStyle), readsNodes });
  // A live run builds its history rarely, and calls may still run then, so its builder is not cached.
  if (invocation.live) {
    const options = { ...optionsOf(model, codeStyle), derived, scope, readsNodes, underWay: invocationId };
    return new ContentsBuilder(agent.name, branch, options).build(session.events);
  }
  const isMain = branch === undefined && scope === undefined;
  const key = isMain ? agent : JSON.stringify([agent.name, branch, scope]);
  let builders = derived.get(BUILDERS);
  if (!builders) derived.set(BUILDERS, (builders = new Map()));
  let cached = builders.get(key);
  if (!cached || cached.model !== model) {
    const { responseMedia = NO_MEDIA } = optionsOf(model, codeStyle);
    const builder =
      cached && isSameMedia(cached.responseMedia, responseMedia)
        ? cached.builder
        : new ContentsBuilder(agent.name, branch, { codeStyle, responseMedia, derived, scope, readsNodes });
    cached = { builder, model, responseMedia };
    builders.set(key, cached);
  }
  return cached.builder.build(session.events, resumedLog && invocationId);
}

/** The builder of an agent's contents, and the model that they are for. */
interface CachedBuilder {
  readonly builder: ContentsBuilder;
  readonly model: BaseLlm | undefined;
  readonly responseMedia: ModelCapabilities['responseMedia'];
}

/** Builders by agent, and those of agents on a branch or in a scope by their name, branch and scope. */
const BUILDERS = new DerivedKey<Map<BaseAgent | string, CachedBuilder>>('contents');

function isSameMedia(one: ModelCapabilities['responseMedia'], other: ModelCapabilities['responseMedia']): boolean {
  return isSameList(one.inlineData, other.inlineData) && isSameList(one.fileData, other.fileData);
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((item, index) => item === other[index]));
}

/**
 * Returns the contents of the current turn only: from the newest event of the user or another agent on. A message of
 * function responses continues the turn that made the calls, even if other turns began since.
 */
function currentTurnContents(view: View, options: ContentsOptions): Content[] {
  const { agent, branch, isolationScope: scope, invocation } = view;
  const { session, derived } = invocation;
  const { events } = session;
  const start = turnStart(events, Calls.of({ session, derived }), view, options.readsNodes);
  return new ContentsBuilder(agent.name, branch, { ...options, derived, scope, sessionEvents: events }).build(
    start > 0 ? events.slice(start) : events,
  );
}

function optionsOf(model: BaseLlm | undefined, codeStyle: CodeStyle | undefined): ContentsOptions {
  return { codeStyle, responseMedia: model?.capabilities().responseMedia };
}

/** Returns the index of the event that starts the current turn: the newest such event before the calls of all responses that follow it. */
function turnStart(
  events: readonly Event[],
  calls: Calls,
  { agent, branch, isolationScope }: View,
  readsNodes: boolean | undefined,
): number {
  const agentName = agent.name;
  let firstCall = events.length;
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at];
    if (!event || event.partial === true || !isVisibleTo(event, branch, isolationScope, readsNodes)) continue;
    for (const call of calls.respondedIn(event))
      if (call.event.author === agentName) firstCall = Math.min(firstCall, call.eventIndex);
    if (at < firstCall && event.author !== agentName && startsTurn(event, agentName)) return at;
  }
  return 0;
}

/**
 * Returns true if an agent on this branch and in this scope sees the event: events of other scopes are hidden from it. (ADK 2.)
 * @param readsNodes true to see also what agents in nodes of a workflow on this branch said, each on a branch of its own
 */
function isVisibleTo(event: Event, branch: string | undefined, scope: string | undefined, readsNodes = false): boolean {
  if (event.isolationScope === undefined) {
    if (readsNodes) return isVisibleAcrossNodes(event, branch);
    // Most events are on the agent's own branch.
    return event.branch === branch || isVisibleOn(event.branch, branch);
  }
  return event.isolationScope === scope && isVisibleOn(branchInScope(event), branch);
}

function startsTurn(event: Event, agentName: string): boolean {
  if (!toModelContent(event, agentName) && !transcriptionOf(event)) return false;
  return getFunctionResponses(event).length === 0;
}

/** The response that the model sees for a call whose result comes later. */
const PENDING = { status: 'pending', message: 'There is no result yet.' };

/** The calls of one content, with their responses, which may arrive in several later events. */
interface CallGroup {
  /** The index of the content with the calls. The content with their responses follows it. */
  readonly index: number;
  calls: ShownCall[];
  /** True if the calls still run, so a missing response will come. */
  readonly isUnderWay: boolean;
  /** True if the contents hold a content with the responses. */
  placed: boolean;
  /** The newest event with responses to these calls; undefined before the first. */
  newestResponse: Event | undefined;
}

/** A call of a group, and its latest response. */
interface ShownCall {
  readonly call: SessionCall;
  readonly group: CallGroup;
  response: Part | undefined;
}

/**
 * Options of a `ContentsBuilder`. The defaults suit an agent without a code executor and a model that accepts no media
 * in function responses.
 */
interface ContentsOptions {
  readonly codeStyle?: CodeStyle | undefined;
  /** Media that the model reads in a function response. Other media follows the responses. Default: none. */
  readonly responseMedia?: ModelCapabilities['responseMedia'] | undefined;
  /** The agent's `isolationScope`. Default: none, so that it sees only events without one. */
  readonly scope?: string | undefined;
  /** True for an agent that reads what agents in nodes of a workflow said, and their input. Default false. */
  readonly readsNodes?: boolean | undefined;
  /** The id of an invocation whose calls still run, so a missing response will come. */
  readonly underWay?: string | undefined;
  /** Cache for the calls of the session, see `Invocation.derived`. Default: a new map. */
  readonly derived?: DerivedValues | undefined;
  /**
   * All events of the session, if the builder gets only some of them: a response may belong to an earlier call.
   * Default: the built events.
   */
  readonly sessionEvents?: readonly Event[] | undefined;
}

const NO_CALLS: readonly SessionCall[] = [];
const NO_GROUPS: readonly CallGroup[] = [];

const NO_MEDIA: ModelCapabilities['responseMedia'] = { inlineData: [], fileData: [] };

/** Number of contents from which `build` returns its own list and not a copy, so that a step does not cost more in a longer session. */
const LENT_FROM = 2048;

/**
 * Builds the contents that a model sees of a session, and updates them event by event, so that a step costs its new
 * events and not the whole history. Do not modify the result: contents are shared with the events, and a long list is
 * shared with the next request.
 */
export class ContentsBuilder {
  readonly #agentName: string;
  readonly #branch: string | undefined;
  readonly #options: ContentsOptions;
  readonly #derived: DerivedValues;
  #contents: Content[] = [];
  /** The events of the current `build`, and the session's calls once an event needed them. */
  #events: readonly Event[] = [];
  #calls: Calls | undefined;
  /** All calls in the contents, each with its latest response. */
  #shown: ShownCall[] | undefined;
  /** The calls of the newest content with calls, while their responses are not in the contents. */
  #unplaced: CallGroup | undefined;
  /** The groups that the newest event responds to; empty if the newest event has other content. */
  #newestResponded: readonly CallGroup[] = NO_GROUPS;
  #seen = 0;
  /** Length of the contents when they were last returned. */
  #length = 0;
  /** The transcribed speech in the last content; undefined if the last content is not speech. */
  #spoken: Spoken | undefined;
  /** The contents that are summaries. */
  #summaries: Set<Content> | undefined;
  #resumedId: string | undefined;

  constructor(agentName: string, branch: string | undefined, options: ContentsOptions = {}) {
    this.#agentName = agentName;
    this.#branch = branch;
    this.#options = options;
    this.#derived = options.derived ?? new Map();
  }

  /**
   * Returns the contents of the events, which must begin with the events of the previous call. Models refuse a call
   * without a response, so a call that has none in the session gets one that says it is pending or was interrupted. If
   * the newest event is a function response, it is the last content, right after its call.
   * @param resumedId the id of an invocation that is resumed: its events are kept, even if a summary covers them
   */
  build(events: readonly Event[], resumedId?: string): Content[] {
    this.#calls = undefined;
    this.#events = events;
    let isRewritten = this.#contents.length !== this.#length || this.#resumedId !== resumedId;
    this.#resumedId = resumedId;
    for (let index = this.#seen; index < events.length && !isRewritten; index++) {
      const event = events[index] as Event;
      isRewritten = rewritesHistory(event.actions);
      if (!isRewritten) this.#addEvent(event);
    }
    if (isRewritten) this.#rebuild(effectiveEvents(events, resumedId));
    if (this.#unplaced) this.#placeResponses(this.#unplaced);
    this.#seen = events.length;
    this.#length = this.#contents.length;
    const newest = this.#newestResponded;
    for (let at = 0; at < newest.length; at++)
      if ((newest[at] as CallGroup).index + 2 < this.#length) return this.#endWithNewestResponses();
    return this.#length < LENT_FROM ? this.#contents.slice() : this.#contents;
  }

  #rebuild(entries: ReturnType<typeof effectiveEvents>): void {
    this.#contents = [];
    this.#shown = undefined;
    this.#unplaced = undefined;
    this.#newestResponded = NO_GROUPS;
    this.#spoken = undefined;
    this.#summaries = undefined;
    for (const entry of entries) {
      if ('summary' in entry) this.#addSummary(entry.summary);
      else this.#addEvent(entry);
    }
  }

  /** Returns the session's calls. They are looked up at the first event with calls or responses. */
  #callsOfSession(): Calls {
    const { sessionEvents = this.#events } = this.#options;
    return (this.#calls ??= Calls.of({ session: { events: sessionEvents }, derived: this.#derived }));
  }

  /**
   * Returns the contents with the newest responses and their calls moved to the end. Model text since those calls is
   * left out, because a model that reads its own text last regards its turn as done. User messages, other calls with
   * their responses, and summaries are kept in front.
   */
  #endWithNewestResponses(): Content[] {
    const groups = [...this.#newestResponded].sort((a, b) => a.index - b.index);
    const start = groups[0]?.index ?? this.#length;
    const last = new Set(groups.flatMap(({ index }) => this.#contents.slice(index, index + 2)));
    const calls = new Set(Object.values(this.#shown ?? []).map(({ group }) => this.#contents[group.index]));
    const between = this.#contents.slice(start).flatMap((content) => {
      if (last.has(content)) return [];
      // A summary gets the role user, because services refuse a call that follows a text of the model.
      if (this.#summaries?.has(content)) return [{ ...content, role: 'user' }];
      return content.role !== 'model' || calls.has(content) ? [content] : [];
    });
    return [...this.#contents.slice(0, start), ...between, ...last];
  }

  #addSummary(summary: Content): void {
    this.#newestResponded = NO_GROUPS;
    this.#push(summary);
    (this.#summaries ??= new Set()).add(summary);
  }

  #push(content: Content): void {
    this.#contents.push(content);
    this.#spoken = undefined;
  }

  #addEvent(given: Event): void {
    const { scope, readsNodes } = this.#options;
    if (given.partial === true || !isVisibleTo(given, this.#branch, scope, readsNodes)) return;
    // The input of a node is a message to its agent.
    const event = readsNodes && given.object === ObjectType.agentInput ? { ...given, author: 'user' } : given;
    const parts = event.content?.parts;
    if (!parts?.length) {
      const spoken = transcriptionOf(event);
      if (spoken) this.#addSpoken(spoken);
    } else {
      const content = toModelContent(event, this.#agentName, this.#options.codeStyle);
      // A response inside a model's reply belongs to that reply, because the model's service ran the tool.
      if (content && content.role !== 'model' && hasResponses(content)) this.#addResponses(event);
      else if (content) this.#addSaid(event, content);
    }
    const isOwnError = event.errorCode !== undefined && event.author === this.#agentName;
    if (isOwnError && isOutputMismatch(event)) this.#addCorrection(event);
    if (isOwnError && reportsLostCalls(event.errorMessage)) this.#addLostCalls(event);
  }

  /** Adds transcribed speech. Consecutive pieces of one speaker are joined to one text. */
  #addSpoken(piece: Spoken): void {
    this.#newestResponded = NO_GROUPS;
    const before = this.#spoken;
    const continues = before?.author === piece.author && before.role === piece.role;
    const spoken = continues ? { ...piece, text: before.text + piece.text } : piece;
    if (continues) this.#contents.pop();
    this.#push(toSpokenContent(spoken, this.#agentName));
    this.#spoken = spoken;
  }

  /** Adds a message with the reason why the model's reply did not match the schema. */
  #addCorrection({ errorMessage = '' }: Event): void {
    this.#newestResponded = NO_GROUPS;
    const text = `${errorMessage} Answer again with JSON that matches the schema and nothing else.`;
    this.#push({ role: 'user', parts: [{ text }] });
  }

  /** Adds a message that the model's reply was interrupted inside a call. Otherwise the model would assume that the call was made. */
  #addLostCalls({ errorMessage = '' }: Event): void {
    this.#newestResponded = NO_GROUPS;
    this.#push({ role: 'user', parts: [{ text: `For context: ${errorMessage}.` }] });
  }

  #addSaid(event: Event, content: Content): void {
    this.#newestResponded = NO_GROUPS;
    const calls = event.author === this.#agentName ? this.#callsForModel(event) : NO_CALLS;
    if (calls.length > 0 && this.#unplaced) this.#placeResponses(this.#unplaced);
    this.#push(content);
    if (calls.length === 0) return;
    const index = this.#contents.length - 1;
    const isUnderWay = event.invocationId === this.#options.underWay;
    const group: CallGroup = { index, calls: [], isUnderWay, placed: false, newestResponse: undefined };
    for (let at = 0; at < calls.length; at++) {
      const call = calls[at] as SessionCall;
      const shown: ShownCall = { call, group, response: undefined };
      // Nearly always the only one: a list that grows from nothing has room for 17.
      if (group.calls.length > 0) group.calls.push(shown);
      else group.calls = [shown];
      (this.#shown ??= [])[call.index] = shown;
    }
    this.#unplaced = group;
  }

  /** Returns the calls of the event that the runtime responds to, without requests to people and calls that the model's service ran. */
  #callsForModel(event: Event): readonly SessionCall[] {
    const toRun = callsToRun(event.content?.parts);
    if (toRun.length === 0) return NO_CALLS;
    let calls: SessionCall[] | undefined;
    const allMade = this.#callsOfSession().madeIn(event);
    let next = 0;
    for (let at = 0; at < allMade.length; at++) {
      const made = allMade[at] as SessionCall;
      if (made.call !== toRun[next]) continue;
      next++;
      if (isPersonRequest(made.call) && !isQuestionOfModel(made.call)) continue;
      if (calls) calls.push(made);
      else calls = [made];
    }
    return calls ?? NO_CALLS;
  }

  /** Places each response right after its call; the latest response to a call wins. Responses without a call are dropped. */
  #addResponses(event: Event): void {
    let rest: Part[] | undefined;
    let groups: CallGroup[] | undefined;
    // In the order of the responses; responses without a call have no entry.
    const calls = this.#callsOfSession().respondedIn(event);
    const parts = event.content?.parts ?? NO_PARTS;
    let next = 0;
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at] as Part;
      const response = part.functionResponse;
      const call = response && calls[next]?.id === (response.id ?? response.name) ? calls[next++] : undefined;
      if (isFrameworkPart(part, call?.call)) continue;
      if (!response) {
        (rest ??= []).push(part);
        continue;
      }
      const shown = call && this.#shown?.[call.index];
      if (!shown) {
        if (this.#isShownAsText(call)) (rest ??= []).push(...toResponseText(response));
        continue;
      }
      shown.response = withoutClientId(part);
      const { group } = shown;
      if (group.newestResponse === event) continue;
      group.newestResponse = event;
      // Nearly always the only one: a list that grows from nothing has room for 17.
      if (groups) groups.push(group);
      else groups = [group];
    }
    if (groups) for (const group of groups) this.#placeResponses(group);
    if (rest) this.#push({ role: 'user', ...event.content, parts: rest });
    // An event that holds only responses without calls adds nothing.
    if (rest) this.#newestResponded = NO_GROUPS;
    else if (groups) this.#newestResponded = groups;
  }

  /** True if the model reads a call as text, in a summary or as a call of another agent. It then reads the response as text, too. */
  #isShownAsText(call: SessionCall | undefined): boolean {
    // Events that a summary covers may not have been read.
    if (!call) return this.#summaries !== undefined;
    const { scope, readsNodes, sessionEvents = this.#events } = this.#options;
    const { event, eventIndex } = call;
    const isBuilt = eventIndex >= sessionEvents.length - this.#events.length;
    if (!isBuilt || !isVisibleTo(event, this.#branch, scope, readsNodes)) return false;
    return this.#summaries !== undefined || event.author !== this.#agentName;
  }

  #placeResponses(group: CallGroup): void {
    if (group === this.#unplaced) this.#unplaced = undefined;
    const parts = group.calls.map(({ call, response }) => response ?? toOpenResponse(call, group));
    const content = moveResponseParts({ role: 'user', parts }, this.#options.responseMedia ?? NO_MEDIA);
    const at = group.index + 1;
    if (group.placed) {
      this.#contents[at] = content;
      return;
    }
    group.placed = true;
    if (at === this.#contents.length) {
      this.#push(content);
      return;
    }
    // No later group has to move: adding the calls of a later group would have placed these responses first.
    this.#contents.splice(at, 0, content);
  }
}

/** Returns true if the contents end with calls that are all still pending. */
export function endsWithPending(contents: readonly Content[]): boolean {
  const { parts = [] } = contents.at(-1) ?? {};
  return parts.length > 0 && parts.every((part) => part.functionResponse?.response?.['message'] === PENDING.message);
}

function toOpenResponse({ call, isLongRunning }: SessionCall, { isUnderWay }: CallGroup): Part {
  const response = isUnderWay || isLongRunning ? PENDING : INTERRUPTED_CALL;
  return withoutClientId({ functionResponse: { ...(call.id && { id: call.id }), name: call.name ?? '', response } });
}

/** Converts a response without its call to text, followed by its media. Services refuse such a response as a part. */
function toResponseText({ name = '', response = {}, parts = [] }: FunctionResponse): Part[] {
  return [{ text: `For context: tool \`${name}\` returned result: ${JSON.stringify(response)}` }, ...parts];
}
