import {
  type Content,
  type Event,
  type FunctionCall,
  getFunctionResponses,
  type InvocationContext,
  ObjectType,
  REQUEST_INPUT,
} from '@eventloom/core';
import {
  aboutCallId,
  branchOfNode,
  Calls,
  enclosingCallIds,
  isCancelled,
  isPersonRequest,
  isRecord,
  jsonOrText,
  newestEntries,
  isOfWorkflowNode,
  NODE_END,
  type SessionCall,
} from '@eventloom/core/internal';
import type { BaseNode } from './base-node.ts';
import { nodeOutputOf, type RouteValue } from './node-context.ts';

/** One run of a node, read from the session's events. */
export interface NodeRecord {
  output: unknown;
  route: RouteValue | readonly RouteValue[] | undefined;
  branch: string | undefined;
  /** Its questions by id, and the calls that ask them. */
  readonly questions: Map<string, FunctionCall | undefined>;
  /** Answers by the id of their question. */
  readonly answers: Map<string, unknown>;
  /** True if the run has ended, with or without a result. */
  isDone: boolean;
  /** True if a plugin gave the output in place of the node. */
  isReplaced: boolean;
  readonly events: Event[];
  /** The position of its last event. */
  end: number;
  /** The position of the last answer to one of its questions. */
  answeredAt: number;
}

/** An event of a node, or what became of one of its questions. */
interface Said {
  readonly position: number;
  readonly event?: Event;
  readonly answer?: { readonly id: string; readonly value: unknown };
  /** The id of a question whose answer came too late, so that the node asks again. */
  readonly expiredId?: string;
}

/**
 * The runs of a workflow's nodes before it was continued: in an earlier message that a node waits for, or in a process
 * that was lost. They are read from the events of the invocation, and from those before it that ended with a question.
 * The n-th run of a node is its n-th in the continued workflow. Sessions of the ADK are read as well.
 */
export class WorkflowHistory {
  readonly #said = new Map<string, Said[]>();
  readonly #records = new Map<string, NodeRecord[]>();
  /** The last answer to each question. */
  readonly answers: Record<string, unknown> = {};
  /** The calls within which a node asked a question that is open. */
  readonly waitingCallIds: ReadonlySet<string>;
  /** True if anything ran before. */
  readonly isContinued: boolean;
  /** True if the workflow is continued by a message, and not because its process was lost. */
  readonly isPrompted: boolean;
  /** The message that the workflow began with, if it is continued. */
  readonly firstMessage: Content | undefined;
  /** True if another execution of the workflow ended earlier in the invocation, as in a LoopAgent. */
  readonly isRepeated: boolean;

  constructor(context: InvocationContext) {
    // Nodes that ask with the same id get the same answer.
    const open = new Map<
      string,
      { readonly paths: Set<string>; readonly call: FunctionCall | undefined; readonly callIds: readonly string[] }
    >();
    const answer = (id: string, value: unknown, position: number, isExpired = false): void => {
      const question = open.get(id);
      if (!question) return;
      open.delete(id);
      if (!isExpired) this.answers[id] = value;
      const said = isExpired ? { position, expiredId: id } : { position, answer: { id, value } };
      for (const path of question.paths) this.#add(path, said);
      // If an agent called the node that asked, its node continues as well.
      for (const callId of question.callIds)
        for (const path of open.get(callId)?.paths ?? [])
          this.#add(path, { position, answer: { id: callId, value: undefined } });
    };
    let isContinued = false;
    const { events, isRepeated } = eventsOfRun(context);
    for (const [position, event] of events.entries()) {
      if (event.author === 'user') {
        for (const { functionResponse } of event.content?.parts ?? []) {
          const { id = '', response } = functionResponse ?? {};
          const call = open.get(id)?.call;
          // The tool of an earlier request reads that the answer came too late.
          const isExpired = response?.['expired'] === true && call?.name === REQUEST_INPUT && !aboutCallId(call);
          if (functionResponse) answer(id, unwrapAnswer(response, schemaOf(call)), position, isExpired);
        }
        const text = textOf(event);
        // A call that waits because its node asks is no question itself.
        const calls = new Set([...open.values()].flatMap(({ callIds }) => callIds));
        const [only, ...others] = [...open.keys()].filter((id) => !calls.has(id));
        if (text !== undefined && only !== undefined && others.length === 0) answer(only, text, position);
        continue;
      }
      const path = event.nodeInfo?.path;
      if (path === undefined || event.partial === true || event.object === ObjectType.agentInput) continue;
      isContinued = true;
      const { longRunningToolIds: ids = [] } = event;
      // Open questions are yielded again to the reader of a later run. In sessions of the ADK, outer nodes report the
      // questions of inner ones.
      const isReport = (id: string): boolean => open.get(id)?.paths.has(path) === true || !callOf(event, id);
      if (ids.length > 0 && ids.every(isReport)) continue;
      this.#add(path, { position, event });
      for (const id of ids) {
        const question = open.get(id);
        if (question) question.paths.add(path);
        else
          open.set(id, {
            paths: new Set([path]),
            call: callOf(event, id),
            callIds: enclosingCallIds(event.branch),
          });
      }
    }
    this.waitingCallIds = new Set([...open.values()].flatMap(({ callIds }) => callIds));
    this.isContinued = isContinued;
    this.isRepeated = isRepeated;
    this.isPrompted = events.findLast(({ content }) => content)?.author === 'user';
    this.firstMessage = events.find(({ author }) => author === 'user')?.content;
  }

  #add(path: string, said: Said): void {
    const all = this.#said.get(path);
    if (all) all.push(said);
    else this.#said.set(path, [said]);
  }

  /**
   * Returns the next earlier run of a node; undefined if there is none. */
  take(path: string, node: BaseNode): NodeRecord | undefined {
    return this.#recordsOf(path, node).shift();
  }

  /** Returns the run that `take` returns next, and leaves it there. */
  peek(path: string, node: BaseNode): NodeRecord | undefined {
    return this.#recordsOf(path, node)[0];
  }

  /** Drops the runs below a node that it made in a run which is not repeated, and returns their events. */
  dropWithin(path: string, { end }: NodeRecord): Event[] {
    const dropped: Event[] = [];
    for (const [below, said] of this.#said) {
      if (!below.startsWith(`${path}.`)) continue;
      const records = this.#records.get(below);
      if (records) while (records[0] && records[0].end <= end) dropped.push(...(records.shift()?.events ?? []));
      else {
        const rest = said.findIndex(({ position }) => position > end);
        const before = said.splice(0, rest < 0 ? said.length : rest);
        dropped.push(...before.flatMap(({ event }) => event ?? []));
      }
    }
    return dropped;
  }

  #recordsOf(path: string, node: BaseNode): NodeRecord[] {
    let records = this.#records.get(path);
    if (!records) this.#records.set(path, (records = toRecords(this.#said.get(path) ?? [], node)));
    return records;
  }
}

/**
 * Divides the events of a node into its runs. The event of its end ends a run. Otherwise an output or a route does,
 * unless the node may go on, and a question whose answer is the output.
 */
function toRecords(said: readonly Said[], { rerunOnResume, endsWithOutput }: BaseNode): NodeRecord[] {
  const records: NodeRecord[] = [];
  const askedIn = new Map<string, NodeRecord>();
  for (const { position, event, answer, expiredId } of said) {
    if (expiredId !== undefined) askedIn.get(expiredId)?.questions.delete(expiredId);
    const asking = answer && askedIn.get(answer.id);
    if (asking) {
      asking.answers.set(answer.id, answer.value);
      asking.answeredAt = position;
    }
    if (!event) continue;
    const end = nodeEndOf(event);
    let record = records.at(-1);
    // The end of a node whose answer is its output belongs to the run that asked.
    const isAfterQuestion = end === undefined && !rerunOnResume && (record?.questions.size ?? 0) > 0;
    if (!record || (end?.amends !== true && (record.isDone || isAfterQuestion))) {
      record = {
        output: undefined,
        route: undefined,
        branch: branchOfNode(event),
        questions: new Map(),
        answers: new Map(),
        isDone: false,
        isReplaced: false,
        events: [],
        end: position,
        answeredAt: -1,
      };
      records.push(record);
    }
    const output = nodeOutputOf(event);
    if (output !== undefined) record.output = output;
    if (event.route !== undefined) record.route = event.route;
    if (endsWithOutput && (output !== undefined || event.route !== undefined)) record.isDone = true;
    if (end) {
      record.isDone = true;
      record.isReplaced = 'output' in end;
      if ('output' in end) record.output = end.output;
      if (end.route !== undefined) record.route = end.route;
    }
    for (const id of event.longRunningToolIds ?? []) {
      record.questions.set(id, callOf(event, id));
      askedIn.set(id, record);
    }
    record.events.push(event);
    record.end = position;
  }
  return records;
}

/** The end of a run of a node, in an event of its own if no other one shows it. */
interface NodeEnd {
  /** True if the run has an event with a result, in whose place the output is. */
  readonly amends: boolean;
  /** The output that a plugin gave. */
  readonly output?: unknown;
  /** The route that the function of the node assigned, which no event of the node has. */
  readonly route?: RouteValue | readonly RouteValue[];
}

/** Returns the `agentState` of the event of the end. */
export function toNodeEnd(
  amends: boolean,
  replaced: { readonly value: unknown } | undefined,
  route: RouteValue | readonly RouteValue[] | undefined,
): { readonly [NODE_END]: NodeEnd } {
  return { [NODE_END]: { amends, ...(replaced && { output: replaced.value }), ...(route !== undefined && { route }) } };
}

/** Returns the end of a run that an event stores; undefined for other events. */
export function nodeEndOf({ actions }: Event): NodeEnd | undefined {
  const end = actions.agentState?.[NODE_END];
  return isRecord(end) ? { ...end, amends: end['amends'] === true } : undefined;
}

/**
 * The events of the invocation, in order. Those right before it that ended with an open question come first, if its
 * message has answers: a session of the ADK has the question and its answer in different invocations. If the workflow
 * is repeated in the invocation, only the events of this execution and the user's.
 */
function eventsOfRun(context: InvocationContext): { readonly events: Event[]; readonly isRepeated: boolean } {
  const { invocation, invocationId } = context;
  const ofCall = eventsOfCall(context);
  if (ofCall) return ofThisExecution(context, ofCall);
  const { session } = invocation;
  const calls = Calls.of(invocation);
  const recorded = invocation.resumedLog?.events ?? [];
  const known = new Set(recorded.map(({ id }) => id));
  const newest: Event[] = [];
  const before: Event[][] = [];
  const firstId = recorded[0]?.id;
  // Runs of other agents between a question and its answer do not count.
  let isBefore = firstId === undefined;
  for (const [, event] of newestEntries(session.events)) {
    if (event.id === firstId) isBefore = true;
    if (event.invocationId === invocationId) {
      if (!known.has(event.id)) newest.push(event);
      continue;
    }
    if (!isBefore) continue;
    const group = before.at(-1);
    if (group?.[0]?.invocationId === event.invocationId) {
      group.push(event);
      continue;
    }
    // Other agents, and programs that append events, take no part in the workflow.
    if (group && !group.some(isOfWorkflowNode)) before.pop();
    else if (group && !hasOpenQuestion(group, calls)) break;
    before.push([event]);
  }
  const last = before.at(-1);
  // The oldest group asked nothing, so it does not belong to the run.
  if (last && !hasOpenQuestion(last, calls)) before.pop();
  const own = [...recorded, ...newest.toReversed()];
  const answersQuestions = own.some((event) => event.author === 'user' && getFunctionResponses(event).length > 0);
  const found = ofThisExecution(context, own);
  return answersQuestions && !found.isRepeated ? { ...found, events: [...before.flat().toReversed(), ...own] } : found;
}

/** Leaves out the events of earlier executions of the workflow in the invocation, except for the user's. */
function ofThisExecution(
  { agent, executionId, resumedFrom }: InvocationContext,
  events: Event[],
): { readonly events: Event[]; readonly isRepeated: boolean } {
  const begin = resumedFrom ? events.findIndex((event) => event.executionId === executionId) : events.length;
  const isRepeated = events.slice(0, Math.max(begin, 0)).some(({ nodeInfo }) => rootOf(nodeInfo?.path) === agent.name);
  return {
    events: isRepeated ? events.filter(({ author }, at) => at >= begin || author === 'user') : events,
    isRepeated,
  };
}

/** Returns the context in which an agent that is called as a tool began; undefined for an agent that is not called as a tool. */
export function callContextOf(context: InvocationContext): InvocationContext | undefined {
  let own = context;
  while (own.parent?.invocation.session === context.invocation.session) own = own.parent;
  return own.parent && own;
}

/**
 * The events of an agent that is called as a tool, and of the agents that it runs, in order; undefined for an agent
 * that is not called as a tool. The agent's view of the session lacks the answers to questions of agents in its nodes.
 */
function eventsOfCall(context: InvocationContext): Event[] | undefined {
  const call = callContextOf(context);
  if (!call) return undefined;
  const { branch: enclosure } = call;
  let { session } = call.invocation;
  for (let at = call.parent; at; at = at.parent) ({ session } = at.invocation);
  const events: Event[] = [];
  for (const [, event] of newestEntries(session.events)) {
    const { branch, invocationId } = event;
    if (invocationId !== context.invocationId) continue;
    if (branch === enclosure && event.object === ObjectType.agentInput) {
      events.push({ ...event, author: 'user' });
      break;
    }
    if (branch === enclosure || branch?.startsWith(`${enclosure}.`)) events.push(event);
  }
  return events.reverse();
}

/**
 * Returns the events with requests to people that an earlier run of a workflow waits for, oldest first; none if the message of this run has
 * answers.
 */
export function openRequests(context: InvocationContext): Event[] {
  const { agent, invocation, invocationId, userContent } = context;
  if (userContent?.parts?.some((part) => part.functionResponse)) return [];
  const calls = Calls.of(invocation);
  const isOpen = ({ call, event }: SessionCall): boolean =>
    isPersonRequest(call) &&
    rootOf(event.nodeInfo?.path) === agent.name &&
    event.invocationId !== invocationId &&
    calls.canContinue(event.invocationId);
  return [...new Set(calls.waiting.filter(isOpen).map(({ event }) => event))];
}

/** Returns the name of the workflow in the path of a node. */
function rootOf(path: string | undefined): string | undefined {
  return path?.split('.', 1)[0];
}

/**
 * Returns true if a node asked a person in these events of a run, waits for the answer, and no message of that run answers it.
 * @param events the newest first
 */
function hasOpenQuestion(events: readonly Event[], calls: Calls): boolean {
  const said = events.filter(isOfWorkflowNode);
  // Nodes that ask with the same id get the same answer.
  const answeredAt = new Map<string, number>();
  for (const event of said)
    for (const { id, responses } of calls.madeIn(event))
      for (const { event: given, eventIndex } of responses)
        if (given.author === 'user' && given.invocationId === event.invocationId)
          answeredAt.set(id, Math.max(eventIndex, answeredAt.get(id) ?? 0));
  const done = new Set<string>();
  return said.some((event) => {
    const { nodeInfo: { path = '' } = {}, route } = event;
    if (nodeOutputOf(event) !== undefined || route !== undefined || nodeEndOf(event)) done.add(path);
    if (done.has(path)) return false;
    return calls
      .madeIn(event)
      .some((call) => call.isLongRunning && !isCancelled(call) && call.eventIndex > (answeredAt.get(call.id) ?? -1));
  });
}

/** The text of a message that consists of texts. */
function textOf({ content }: Event): string | undefined {
  const parts = content?.parts ?? [];
  if (parts.length === 0 || parts.some(({ text }) => text === undefined)) return undefined;
  return parts.map(({ text }) => text).join('');
}

function callOf({ content }: Event, id: string): FunctionCall | undefined {
  return content?.parts?.find(({ functionCall }) => functionCall?.id === id)?.functionCall;
}

function schemaOf(call: FunctionCall | undefined): unknown {
  return call?.name === REQUEST_INPUT ? (call.args?.['response_schema'] ?? call.args?.['responseSchema']) : undefined;
}

/**
 * Returns the value of an answer. Clients send `{ result }`, or an object that is the answer itself. A text is read as
 * JSON if the schema does not accept texts.
 */
function unwrapAnswer(response: unknown, schema: unknown): unknown {
  if (!isRecord(response)) return response;
  const keys = Object.keys(response);
  if (keys.length !== 1 || keys[0] !== 'result') return response;
  const value = response['result'];
  return typeof value !== 'string' || acceptsText(schema) ? value : jsonOrText(value);
}

function acceptsText(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  const { type, anyOf, oneOf } = schema;
  if (type === 'string' || (Array.isArray(type) && type.includes('string'))) return true;
  return [anyOf, oneOf].some((any) => Array.isArray(any) && any.some(acceptsText));
}
