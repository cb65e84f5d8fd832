import {
  callsToRun,
  type Content,
  type Event,
  type FunctionResponse,
  INTERRUPTED_CALL,
  isOutputMismatch,
  isPersonRequest,
  isVisibleOn,
  type Part,
} from '@eventloom/core';
import { type Call, Calls, moveResponseParts, type TakesResponsePart } from '@eventloom/core/internal';
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

/** What is told of a call whose answer comes later. */
const PENDING = { status: 'pending', message: 'There is no result yet.' };

/** The calls of one content and what they were answered, kept together whenever the answers came. */
interface CallGroup {
  /** The index of the calls in the contents. Their responses are right behind. */
  readonly index: number;
  readonly calls: readonly Call[];
  /** True if the calls still run: those without a response will have one. */
  readonly isUnderWay: boolean;
  readonly responses: Map<Call, Part>;
  placed: boolean;
}

/** How a builder's contents differ from those of an agent that runs no code, whose model takes no media in function responses. */
export interface ContentsOptions {
  readonly codeStyle?: CodeStyle | undefined;
  /** The media that the model takes in function responses. Other media follows behind the responses. Default: none. */
  readonly takes?: TakesResponsePart | undefined;
  /** An invocation whose calls still run: those without a response will have one. */
  readonly underWay?: string | undefined;
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
  readonly #codeStyle: CodeStyle | undefined;
  readonly #takes: TakesResponsePart;
  readonly #underWay: string | undefined;
  #contents: Content[] = [];
  #calls = new Calls();
  /** By the calls of the reply. */
  #groups = new Map<readonly Call[], CallGroup>();
  /** The newest calls while nothing stands behind them. */
  #unanswered: CallGroup | undefined;
  /** The groups that the newest event answers; empty when the newest event is something else. */
  #newestAnswered: readonly CallGroup[] = [];
  #seen = 0;
  /** How long the contents were when they were handed out. */
  #length = 0;
  /** The speech that the last content holds, when it is one. */
  #spoken: Spoken | undefined;
  /** The contents that stand for events that were summarized. */
  #summaries: Set<Content> | undefined;
  #goingOn: string | undefined;

  constructor(
    agentName: string,
    branch: string | undefined,
    { codeStyle, takes = () => false, underWay }: ContentsOptions = {},
  ) {
    this.#agentName = agentName;
    this.#branch = branch;
    this.#codeStyle = codeStyle;
    this.#takes = takes;
    this.#underWay = underWay;
  }

  /**
   * Returns the contents of these events, of which the ones seen before are a prefix. Models refuse a call without a response: one
   * that has none in the session is told to wait for its answer, or to be cut off. When the newest event is a function response, it
   * is the last content, behind its call.
   * @param goingOn an invocation that is resumed: it is told as it is, also when a summary tells of it
   */
  build(events: readonly Event[], goingOn?: string): Content[] {
    const wasChanged = this.#contents.length !== this.#length || this.#goingOn !== goingOn;
    this.#goingOn = goingOn;
    const added = events.slice(this.#seen);
    if (wasChanged || added.some(rewritesHistory)) {
      this.#reset();
      for (const entry of effectiveEvents(events, goingOn)) {
        if ('summary' in entry) this.#addSummary(entry.summary);
        else this.#addEvent(entry);
      }
    } else {
      for (const event of added) this.#addEvent(event);
    }
    this.#tellUnanswered();
    this.#seen = events.length;
    this.#length = this.#contents.length;
    if (this.#newestAnswered.some(({ index }) => index + 2 < this.#length)) return this.#endWithNewestAnswers();
    return this.#length < LENT_FROM ? this.#contents.slice() : this.#contents;
  }

  #reset(): void {
    this.#contents = [];
    this.#calls = new Calls();
    this.#groups = new Map();
    this.#unanswered = undefined;
    this.#newestAnswered = [];
    this.#spoken = undefined;
    this.#summaries = undefined;
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
    const calls = new Set([...this.#groups.values()].map(({ index }) => this.#contents[index]));
    const between = this.#contents.slice(start).flatMap((content) => {
      if (answers.has(content)) return [];
      // Services refuse a call behind a model's text, and a summary tells what the user said as well.
      if (this.#summaries?.has(content)) return [{ ...content, role: 'user' }];
      return content.role !== 'model' || calls.has(content) ? [content] : [];
    });
    return [...this.#contents.slice(0, start), ...between, ...answers];
  }

  #addSummary(summary: Content): void {
    this.#newestAnswered = [];
    this.#push(summary);
    (this.#summaries ??= new Set()).add(summary);
  }

  #push(content: Content): void {
    this.#contents.push(content);
    this.#spoken = undefined;
  }

  #addEvent(event: Event): void {
    if (event.partial === true || !isVisibleOn(event.branch, this.#branch)) return;
    const inReply = this.#calls.add(event);
    const spoken = transcriptionOf(event);
    if (spoken) {
      this.#newestAnswered = [];
      this.#addSpoken(spoken);
      return;
    }
    const content = toModelContent(event, this.#agentName, this.#codeStyle);
    // A response inside a model's own reply is part of that reply: its service ran the tool.
    if (content?.role !== 'model' && content?.parts?.some((part) => part.functionResponse)) this.#addResponses(event);
    else if (content) {
      this.#newestAnswered = [];
      this.#addSaid(event, content, inReply);
    }
    if (isOutputMismatch(event) && event.author === this.#agentName) {
      this.#newestAnswered = [];
      this.#addCorrection(event);
    }
  }

  /** Speech comes in pieces: those of one speaker that follow each other are one text. */
  #addSpoken(piece: Spoken): void {
    const before = this.#spoken;
    const goesOn = before?.author === piece.author && before.role === piece.role;
    const spoken = goesOn ? { ...piece, text: before.text + piece.text } : piece;
    if (goesOn) this.#contents.pop();
    this.#push(toSpokenContent(spoken, this.#agentName));
    this.#spoken = spoken;
  }

  /** Tells the model what was wrong with its answer. */
  #addCorrection({ errorMessage = '' }: Event): void {
    const text = `${errorMessage} Answer again with JSON that matches the schema and nothing else.`;
    this.#push({ role: 'user', parts: [{ text }] });
  }

  /** @param inReply the calls of the event */
  #addSaid(event: Event, content: Content, inReply: readonly Call[]): void {
    const calls = event.author === this.#agentName ? callsForModel(event, inReply) : [];
    if (calls.length > 0) this.#tellUnanswered();
    this.#push(content);
    if (calls.length === 0) return;
    const index = this.#contents.length - 1;
    const isUnderWay = event.invocationId === this.#underWay;
    const group: CallGroup = { index, calls, isUnderWay, responses: new Map(), placed: false };
    this.#groups.set(inReply, group);
    this.#unanswered = group;
  }

  #tellUnanswered(): void {
    if (this.#unanswered) this.#placeResponses(this.#unanswered);
  }

  /** Puts each response right behind its call, the latest one of an id in place of an earlier one. Orphans are dropped. */
  #addResponses(event: Event): void {
    const rest: Part[] = [];
    const answered = new Set<CallGroup>();
    const calls = this.#calls.answeredIn(event);
    for (const part of event.content?.parts ?? []) {
      if (isFrameworkPart(part)) continue;
      const response = part.functionResponse;
      if (!response) {
        rest.push(part);
        continue;
      }
      const call = calls.find(({ id }) => id === (response.id ?? response.name));
      const group = call && this.#groups.get(call.inReply);
      if (!call || !group?.calls.includes(call)) {
        // Its call may be one that a summary tells of: what is answered late is told, and never lost.
        if (this.#summaries) rest.push(...toldResponse(response));
        continue;
      }
      group.responses.set(call, withoutClientId(part));
      answered.add(group);
    }
    for (const group of answered) this.#placeResponses(group);
    if (rest.length > 0) this.#push({ role: 'user', ...event.content, parts: rest });
    // An event of orphans alone says nothing.
    if (rest.length > 0) this.#newestAnswered = [];
    else if (answered.size > 0) this.#newestAnswered = [...answered];
  }

  #placeResponses(group: CallGroup): void {
    if (group === this.#unanswered) this.#unanswered = undefined;
    const parts = group.calls.map((call) => group.responses.get(call) ?? toldOpen(call, group));
    const content = moveResponseParts({ role: 'user', parts }, this.#takes);
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

/** The calls that the model gets responses to: not those that its service ran, and no requests to people. */
function callsForModel(event: Event, inReply: readonly Call[]): readonly Call[] {
  if (inReply.length === 0) return inReply;
  const toRun = callsToRun(event.content?.parts);
  return inReply.filter(({ call }) => toRun.includes(call) && !isPersonRequest(call));
}

function toldOpen({ call, isLongRunning }: Call, { isUnderWay }: CallGroup): Part {
  const response = isUnderWay || isLongRunning ? PENDING : INTERRUPTED_CALL;
  return withoutClientId({ functionResponse: { id: call.id ?? '', name: call.name ?? '', response } });
}

/** A response without its call, as text, because services refuse it as a part; its media behind the text. */
function toldResponse({ name = '', response = {}, parts = [] }: FunctionResponse): Part[] {
  return [{ text: `For context: \`${name}\` tool returned result: ${JSON.stringify(response)}` }, ...parts];
}
