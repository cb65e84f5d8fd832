import type { Content, Event, FunctionResponse, Part } from '@eventloom/core';
import {
  type RecordedCall,
  Calls,
  callsToRun,
  INTERRUPTED_CALL,
  isOutputMismatch,
  isPersonRequest,
  isVisibleOn,
  moveResponseParts,
  type TakesResponsePart,
} from '@eventloom/core/internal';
import { effectiveEvents, rewritesHistory } from '../compaction/effective-history.ts';
import type { CodeStyle } from '../code-execution/code-contents.ts';
import {
  isFrameworkPart,
  type Spoken,
  toModelContent,
  toSpokenContent,
  transcriptionOf,
  withoutClientId,
} from './event-content.ts';

/** The response shown to the model for a call whose result comes later. */
const PENDING = { status: 'pending', message: 'There is no result yet.' };

/** The calls of one content and what they were answered, kept together whenever the answers came. */
interface CallGroup {
  /** The index of the calls in the contents. Their responses are right behind. */
  readonly index: number;
  readonly calls: AnsweredCall[];
  /** True if the calls still run: those without a response will have one. */
  readonly isUnderWay: boolean;
  placed: boolean;
  /** The newest event with responses to these calls. */
  answeredBy: Event | undefined;
}

/** A call of a group, and its latest response. */
interface AnsweredCall {
  readonly call: RecordedCall;
  readonly group: CallGroup;
  response: Part | undefined;
}

/**
 * Options of a builder. The default is for an agent that runs no code, and a model that takes no media in function
 * responses.
 */
export interface ContentsOptions {
  readonly codeStyle?: CodeStyle | undefined;
  /** The media that the model takes in function responses. Other media follows behind the responses. Default: none. */
  readonly takes?: TakesResponsePart | undefined;
  /** An invocation whose calls still run: those without a response will have one. */
  readonly underWay?: string | undefined;
  /** Cache for the calls of the session, see `Invocation.derived`. Default: one of the builder. */
  readonly derived?: Map<unknown, unknown> | undefined;
  /** All events of the session, for a builder of some of them: a response may belong to a call before these. */
  readonly sessionEvents?: readonly Event[] | undefined;
}

const NO_CALLS: readonly RecordedCall[] = [];
const NO_GROUPS: readonly CallGroup[] = [];

function takesNone(): boolean {
  return false;
}

function isResponse({ functionResponse }: Part): boolean {
  return functionResponse !== undefined;
}

/** From so many contents on the list itself is handed out: copying it would make a step cost more the longer the session is. */
const LENT_FROM = 2048;

/**
 * The contents that a model sees of a session, kept up to date event by event: a step costs its new events and not the whole
 * history again. Contents are shared with the events they came from, and a long list with the next request: neither is to be
 * modified.
 */
export class ContentsBuilder {
  readonly #agentName: string;
  readonly #branch: string | undefined;
  readonly #options: ContentsOptions;
  readonly #derived: Map<unknown, unknown>;
  #contents: Content[] = [];
  /** The events that are built, and the calls of the session if there were any to look up. */
  #events: readonly Event[] = [];
  #calls: Calls | undefined;
  readonly #answered = new Map<RecordedCall, AnsweredCall>();
  /** The newest calls while nothing stands behind them. */
  #unanswered: CallGroup | undefined;
  /** The groups that the newest event answers; empty when the newest event is something else. */
  #newestAnswered: readonly CallGroup[] = NO_GROUPS;
  #seen = 0;
  /** Length of the contents when they were last returned. */
  #length = 0;
  /** The speech that the last content holds, when it is one. */
  #spoken: Spoken | undefined;
  /** The contents that stand for events that were summarized. */
  #summaries: Set<Content> | undefined;
  #goingOn: string | undefined;

  constructor(agentName: string, branch: string | undefined, options: ContentsOptions = {}) {
    this.#agentName = agentName;
    this.#branch = branch;
    this.#options = options;
    this.#derived = options.derived ?? new Map();
  }

  /**
   * Returns the contents of these events, of which the ones seen before are a prefix. Models refuse a call without a response: one
   * that has none in the session is told to wait for its answer, or to be cut off. When the newest event is a function response, it
   * is the last content, behind its call.
   * @param goingOn an invocation that is resumed: it is told as it is, also when a summary tells of it
   */
  build(events: readonly Event[], goingOn?: string): Content[] {
    this.#calls = undefined;
    this.#events = events;
    let isRewritten = this.#contents.length !== this.#length || this.#goingOn !== goingOn;
    this.#goingOn = goingOn;
    for (let index = this.#seen; index < events.length && !isRewritten; index++) {
      const event = events[index] as Event;
      isRewritten = rewritesHistory(event);
      if (!isRewritten) this.#addEvent(event);
    }
    if (isRewritten) this.#rebuild(effectiveEvents(events, goingOn));
    if (this.#unanswered) this.#placeResponses(this.#unanswered);
    this.#seen = events.length;
    this.#length = this.#contents.length;
    for (const { index } of this.#newestAnswered) if (index + 2 < this.#length) return this.#endWithNewestAnswers();
    return this.#length < LENT_FROM ? this.#contents.slice() : this.#contents;
  }

  #rebuild(entries: ReturnType<typeof effectiveEvents>): void {
    this.#contents = [];
    this.#answered.clear();
    this.#unanswered = undefined;
    this.#newestAnswered = NO_GROUPS;
    this.#spoken = undefined;
    this.#summaries = undefined;
    for (const entry of entries) {
      if ('summary' in entry) this.#addSummary(entry.summary);
      else this.#addEvent(entry);
    }
  }

  /** The calls of the session, looked up when an event with calls or responses is met. */
  #callsOfSession(): Calls {
    const { sessionEvents = this.#events } = this.#options;
    return (this.#calls ??= Calls.of({ events: sessionEvents }, this.#derived));
  }

  /**
   * Returns the contents with the newest answers, behind their calls, at the end. What the model said since these calls without
   * calling a tool is left out, because a model that reads its own text last takes the turn for done. What the user said, other
   * calls with their responses, and summaries stay, before them.
   */
  #endWithNewestAnswers(): Content[] {
    const groups = [...this.#newestAnswered].sort((a, b) => a.index - b.index);
    const start = groups[0]?.index ?? this.#length;
    const answers = new Set(groups.flatMap(({ index }) => this.#contents.slice(index, index + 2)));
    const calls = new Set(Array.from(this.#answered.values(), ({ group }) => this.#contents[group.index]));
    const between = this.#contents.slice(start).flatMap((content) => {
      if (answers.has(content)) return [];
      // Services refuse a call behind a model's text, and a summary tells what the user said as well.
      if (this.#summaries?.has(content)) return [{ ...content, role: 'user' }];
      return content.role !== 'model' || calls.has(content) ? [content] : [];
    });
    return [...this.#contents.slice(0, start), ...between, ...answers];
  }

  #addSummary(summary: Content): void {
    this.#newestAnswered = NO_GROUPS;
    this.#push(summary);
    (this.#summaries ??= new Set()).add(summary);
  }

  #push(content: Content): void {
    this.#contents.push(content);
    this.#spoken = undefined;
  }

  #addEvent(event: Event): void {
    if (event.partial === true || !isVisibleOn(event.branch, this.#branch)) return;
    const parts = event.content?.parts;
    if (!parts?.length) {
      const spoken = transcriptionOf(event);
      if (spoken) this.#addSpoken(spoken);
    } else {
      const content = toModelContent(event, this.#agentName, this.#options.codeStyle);
      // A response inside a model's own reply is part of that reply: its service ran the tool.
      if (content && content.role !== 'model' && content.parts?.some(isResponse)) this.#addResponses(event);
      else if (content) this.#addSaid(event, content);
    }
    const isOwnError = event.errorCode !== undefined && event.author === this.#agentName;
    if (isOwnError && isOutputMismatch(event)) this.#addCorrection(event);
  }

  /** Speech comes in pieces: those of one speaker that follow each other are one text. */
  #addSpoken(piece: Spoken): void {
    this.#newestAnswered = NO_GROUPS;
    const before = this.#spoken;
    const continues = before?.author === piece.author && before.role === piece.role;
    const spoken = continues ? { ...piece, text: before.text + piece.text } : piece;
    if (continues) this.#contents.pop();
    this.#push(toSpokenContent(spoken, this.#agentName));
    this.#spoken = spoken;
  }

  /** Tells the model what was wrong with its answer. */
  #addCorrection({ errorMessage = '' }: Event): void {
    this.#newestAnswered = NO_GROUPS;
    const text = `${errorMessage} Answer again with JSON that matches the schema and nothing else.`;
    this.#push({ role: 'user', parts: [{ text }] });
  }

  #addSaid(event: Event, content: Content): void {
    this.#newestAnswered = NO_GROUPS;
    const calls = event.author === this.#agentName ? this.#callsForModel(event) : NO_CALLS;
    if (calls.length > 0 && this.#unanswered) this.#placeResponses(this.#unanswered);
    this.#push(content);
    if (calls.length === 0) return;
    const index = this.#contents.length - 1;
    const isUnderWay = event.invocationId === this.#options.underWay;
    const group: CallGroup = { index, calls: [], isUnderWay, placed: false, answeredBy: undefined };
    for (const call of calls) {
      const answered: AnsweredCall = { call, group, response: undefined };
      group.calls.push(answered);
      this.#answered.set(call, answered);
    }
    this.#unanswered = group;
  }

  /** The calls that the model gets responses to: not those that its service ran, and no requests to people. */
  #callsForModel(event: Event): readonly RecordedCall[] {
    const toRun = callsToRun(event.content?.parts);
    if (toRun.length === 0) return NO_CALLS;
    const calls: RecordedCall[] = [];
    let next = 0;
    for (const made of this.#callsOfSession().madeIn(event)) {
      if (made.call !== toRun[next]) continue;
      next++;
      if (!isPersonRequest(made.call)) calls.push(made);
    }
    return calls;
  }

  /** Puts each response right behind its call, the latest one of an id in place of an earlier one. Orphans are dropped. */
  #addResponses(event: Event): void {
    const rest: Part[] = [];
    const groups: CallGroup[] = [];
    // In the order of the responses, without those that belong to no call.
    const calls = this.#callsOfSession().answeredIn(event);
    let next = 0;
    for (const part of event.content?.parts ?? []) {
      const response = part.functionResponse;
      const call = response && calls[next]?.id === (response.id ?? response.name) ? calls[next++] : undefined;
      if (isFrameworkPart(part)) continue;
      if (!response) {
        rest.push(part);
        continue;
      }
      const answered = call && this.#answered.get(call);
      if (!answered) {
        // Its call may be one that a summary tells of: what is answered late is told, and never lost.
        if (this.#summaries) rest.push(...toldResponse(response));
        continue;
      }
      answered.response = withoutClientId(part);
      const { group } = answered;
      if (group.answeredBy !== event) groups.push(group);
      group.answeredBy = event;
    }
    for (const group of groups) this.#placeResponses(group);
    if (rest.length > 0) this.#push({ role: 'user', ...event.content, parts: rest });
    // An event of orphans alone says nothing.
    if (rest.length > 0) this.#newestAnswered = NO_GROUPS;
    else if (groups.length > 0) this.#newestAnswered = groups;
  }

  #placeResponses(group: CallGroup): void {
    if (group === this.#unanswered) this.#unanswered = undefined;
    const parts: Part[] = [];
    for (const { call, response } of group.calls) parts.push(response ?? toldOpen(call, group));
    const content = moveResponseParts({ role: 'user', parts }, this.#options.takes ?? takesNone);
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
    // No group stands behind: the calls of the next one would have had these told before.
    this.#contents.splice(at, 0, content);
  }
}

/** True for contents that end with calls of which none has a response yet. */
export function endsWithPending(contents: readonly Content[]): boolean {
  const { parts = [] } = contents.at(-1) ?? {};
  return parts.length > 0 && parts.every((part) => part.functionResponse?.response?.['message'] === PENDING.message);
}

function toldOpen({ call, isLongRunning }: RecordedCall, { isUnderWay }: CallGroup): Part {
  const response = isUnderWay || isLongRunning ? PENDING : INTERRUPTED_CALL;
  return withoutClientId({ functionResponse: { id: call.id ?? '', name: call.name ?? '', response } });
}

/** A response without its call, as text, because services refuse it as a part; its media behind the text. */
function toldResponse({ name = '', response = {}, parts = [] }: FunctionResponse): Part[] {
  return [{ text: `For context: \`${name}\` tool returned result: ${JSON.stringify(response)}` }, ...parts];
}
