import { type FunctionCall, NO_PARTS, type Part } from '../content/content.ts';
import { DerivedKey, type DerivedValues } from '../context/derived-values.ts';
import { branchInScope, enclosureOf, enclosuresOf } from '../event/branch.ts';
import { isOfWorkflowNode, isOnNodeBranch } from '../event/workflow-node.ts';
import { type Event, ObjectType } from '../event/event.ts';
import { EventTag, hasTag } from '../event/event-tags.ts';
import { newestEntries } from '../event/newest-first.ts';
import { beginsResumableRun } from '../event/run-events.ts';
import { aboutCallId, isInterruption, isPersonRequest } from '../tool/reserved-calls.ts';

/** A response to a call. */
export interface CallResponse {
  readonly event: Event;
  /** The index of the event among the events that were read. */
  readonly eventIndex: number;
  readonly response: Readonly<Record<string, unknown>>;
}

/** A function call of a session, with its responses and with the requests to people about it. */
export interface SessionCall {
  readonly call: FunctionCall;
  /** The id of the function call; its name if it has no id. */
  readonly id: string;
  /** The position of the call in `Calls.all`. */
  readonly index: number;
  /** The event that made the call. */
  readonly event: Event;
  /** The index of the event among the events that were read. */
  readonly eventIndex: number;
  /** The branch of the event, without that of its isolation scope. Responses to the call are on this branch. */
  readonly branch: string | undefined;
  /** All calls of the same event, including this one. */
  readonly inReply: readonly SessionCall[];
  /** Responses, oldest first. The first response of a call that waits for a person only says that it waits. */
  readonly responses: readonly CallResponse[];
  /** Requests to people about this call (confirmation, credential, input), oldest first. Their responses are the people's answers. */
  readonly requests: readonly SessionCall[];
  /** The tool call that this request to a person is about; undefined for other calls, and if an agent asks. */
  readonly about: SessionCall | undefined;
  /** True if the response may come in a later run. */
  readonly isLongRunning: boolean;
  /** True for a call that was imported with its session. No run continues it. */
  readonly isImported: boolean;
}

interface GrowingCall extends SessionCall {
  inReply: readonly SessionCall[];
  responses: CallResponse[];
  requests: SessionCall[];
}

/** Calls of one id that new responses can answer. */
interface Answerable {
  /** Calls without a response, oldest first. Each response takes the last one. */
  readonly free: SessionCall[];
  /** The call of a response for which no free call is left. */
  readonly newest: SessionCall | undefined;
}

/** A session whose events were read, and the values that are kept with them. */
interface WithEvents {
  readonly session: { readonly events: readonly Event[] };
  readonly derived: DerivedValues;
}

/**
 * The calls of a session with their responses: the only place that decides which call a response belongs to.
 *
 * Models may reuse call ids in every reply, so an id alone does not identify a call. A response belongs to the newest
 * call before it that has its id and its branch; calls of its own run come before those of other runs. A response
 * without a branch, as other ADKs store the answers of users, belongs to the newest call of its id if no call without a
 * branch has it. Calls of agents that run as tools are excepted. The branch `agent@scope` of a task in a session of
 * adk-python does not count: the task's calls are on the branch of the agent that called it. A request to a person
 * belongs to the call that it is about by the same rule.
 *
 * `stateOf` says what a call lacks. The lists of calls, which also depend on the run and on newer calls with the same id:
 *
 * | list              | calls                                                                                                  |
 * | ----------------- | ------------------------------------------------------------------------------------------------------ |
 * | `unanswered(run)` | of a run, without a response: interrupted, in progress or long-running; not requests to people        |
 * | `waiting`         | long-running, also requests to people, without a response: a client or a person is to give it         |
 * | `decided(run)`    | in the state `decided` that the run is to continue                                                     |
 * | `unfinished(run)` | of the two lists of the run to which nobody else could respond, and that do not wait with it          |
 * | `answerable(ids)` | that the responses of a new message belong to, also if they have their response already              |
 *
 * Rewound events are ignored. The cost of adding an event does not depend on the number of events.
 */
export class Calls {
  readonly #all: GrowingCall[] = [];
  /** Calls without a response, oldest first. */
  readonly #withoutResponse = new Set<GrowingCall>();
  readonly #byId = new Map<string, GrowingCall[]>();
  readonly #madeIn = new Map<Event, SessionCall[]>();
  readonly #respondedIn = new Map<Event, SessionCall[]>();
  // Most sessions have none of the following, and each of these collections would cost a turn 200 bytes.
  /** Calls with unsettled requests: in the state `asked` or `decided`. */
  #withRequests: Set<GrowingCall> | undefined;
  /** For ids with several calls: the newest call by id and branch, by id, branch and run, and by id alone. */
  #newest: Map<string, GrowingCall> | undefined;
  /** Long-running calls by their run. */
  #longRunning: Map<string, SessionCall[]> | undefined;
  /** Resumable runs, by whether they can continue or have their end. */
  #runs: Map<string, 'canContinue' | 'ended'> | undefined;
  #size = 0;

  /** @param events events of a session, in append order */
  constructor(events: readonly Event[] = []) {
    this.update(events);
  }

  /** Returns the calls of a loaded session or of an invocation. They are kept with the events, and only new events are read. */
  static of({ session: { events }, derived }: WithEvents): Calls {
    let calls = derived.get(CALLS);
    if (!calls) derived.set(CALLS, (calls = new Calls()));
    calls.update(events);
    return calls;
  }

  /** Reads the new events of a list that begins with the events that were read before. */
  update(events: readonly Event[]): void {
    const first = this.#size;
    let isRewound = false;
    for (let at = first; at < events.length; at++)
      if (events[at]?.actions?.rewindBeforeInvocationId !== undefined) isRewound = true;
    if (isRewound) {
      this.#clear();
      for (const [index, event] of [...newestEntries(events)].reverse()) {
        this.#size = index;
        this.add(event);
      }
    } else for (let at = first; at < events.length; at++) this.add(events[at] as Event);
    this.#size = events.length;
  }

  /** Reads the next event, which must not be a rewind. Ignores a partial event. */
  add(event: Event): void {
    const eventIndex = this.#size++;
    if (event.partial === true) return;
    if (beginsResumableRun(event)) (this.#runs ??= new Map()).set(event.invocationId, 'canContinue');
    else if (event.object === ObjectType.runnerEnd) (this.#runs ??= new Map()).set(event.invocationId, 'ended');
    let inReply: SessionCall[] | undefined;
    let responded: SessionCall[] | undefined;
    // Most events have no scope.
    const branch = event.isolationScope === undefined ? event.branch : branchInScope(event);
    const parts = event.content?.parts ?? NO_PARTS;
    for (let index = 0; index < parts.length; index++) {
      const { functionCall, functionResponse } = parts[index] as Part;
      if (functionCall) {
        const added = this.#addCall(functionCall, event, eventIndex, branch);
        inReply = listWith(inReply, added);
        added.inReply = inReply;
      }
      const call = functionResponse && this.#find(idOf(functionResponse), branch, event.invocationId);
      if (!call) continue;
      this.#withoutResponse.delete(call);
      call.responses = listWith(call.responses, { event, eventIndex, response: functionResponse.response ?? {} });
      responded = listWith(responded, call);
      const about = (call.about ?? call) as GrowingCall;
      if (about.requests.length > 0 && unsettledRequests(about).length === 0) this.#withRequests?.delete(about);
    }
    if (inReply) this.#madeIn.set(event, inReply);
    if (responded) this.#respondedIn.set(event, responded);
  }

  #addCall(call: FunctionCall, event: Event, eventIndex: number, branch: string | undefined): GrowingCall {
    const id = idOf(call);
    const aboutId = aboutCallId(call);
    const about = aboutId === undefined ? undefined : this.#find(aboutId, branch, event.invocationId);
    const isLongRunning = event.longRunningToolIds?.includes(id) === true;
    const isImported = hasTag(event, EventTag.imported);
    const added: GrowingCall = {
      call,
      id,
      index: this.#all.length,
      event,
      eventIndex,
      branch,
      inReply: NO_CALLS,
      responses: EMPTY,
      requests: EMPTY,
      about,
      isLongRunning,
      isImported,
    };
    if (about) {
      about.requests = listWith(about.requests, added);
      (this.#withRequests ??= new Set()).add(about);
    }
    if (isLongRunning) {
      const ofRun = (this.#longRunning ??= new Map<string, SessionCall[]>());
      ofRun.set(event.invocationId, listWith(ofRun.get(event.invocationId), added));
    }
    this.#all.push(added);
    this.#withoutResponse.add(added);
    const named = this.#byId.get(id);
    if (!named) {
      this.#byId.set(id, [added]);
      return added;
    }
    const [first] = named;
    if (named.length === 1 && first) this.#index(first);
    named.push(added);
    this.#index(added);
    return added;
  }

  /** Indexes a call of an id with several calls. Most ids have one call and need no index. */
  #index(call: GrowingCall): void {
    const { id, event, branch } = call;
    const newest = (this.#newest ??= new Map());
    newest.set(keyOf(id, branch), call);
    newest.set(keyOf(id, branch, event.invocationId), call);
    if (enclosureOf(branch) === '') newest.set(keyOf(id, ANY_BRANCH), call);
  }

  #find(id: string, branch: string | undefined, invocationId: string): GrowingCall | undefined {
    const named = this.#byId.get(id);
    if (!named) return undefined;
    const only = named.length === 1 ? named[0] : undefined;
    if (only) {
      const isItsBranch = (only.branch ?? '') === (branch ?? '');
      return isItsBranch || (!branch && enclosureOf(only.branch) === '') ? only : undefined;
    }
    return (
      this.#newest?.get(keyOf(id, branch, invocationId)) ??
      this.#newest?.get(keyOf(id, branch)) ??
      (branch ? undefined : this.#newest?.get(keyOf(id, ANY_BRANCH)))
    );
  }

  #clear(): void {
    this.#all.length = 0;
    for (const kept of [
      this.#withoutResponse,
      this.#withRequests,
      this.#byId,
      this.#newest,
      this.#madeIn,
      this.#respondedIn,
      this.#longRunning,
      this.#runs,
    ])
      kept?.clear();
  }

  /** All calls, oldest first. */
  get all(): readonly SessionCall[] {
    return this.#all;
  }

  /** The calls with this id, oldest first. No caller may take one of them by the id alone. */
  #named(id: string): readonly SessionCall[] {
    return this.#byId.get(id) ?? NO_CALLS;
  }

  /** The newest call with this id on this branch. */
  newest(id: string, branch: string | undefined): SessionCall | undefined {
    const named = this.#byId.get(id);
    const only = named?.length === 1 ? named[0] : undefined;
    if (!only) return named && this.#newest?.get(keyOf(id, branch));
    return (only.branch ?? '') === (branch ?? '') ? only : undefined;
  }

  /**
   * True if a new call on this branch cannot have this id: a call on the branch has it, or a long-running call without a
   * response, on any branch, because an answer could not tell the two apart.
   */
  isTaken(id: string, branch: string | undefined): boolean {
    if (this.newest(id, branch)) return true;
    // Nearly always empty, and asked for each call of a reply: an iterator of an empty set costs 100 bytes.
    if (this.#withoutResponse.size > 0)
      for (const call of this.#withoutResponse) if (call.id === id && call.isLongRunning) return true;
    return false;
  }

  /**
   * The call that a client means by an id, which it knows without a branch: the newest that waits for a response,
   * otherwise the newest that is long-running, otherwise the newest. While a call waits, agents give its id to no other
   * call.
   */
  meantBy(id: string): SessionCall | undefined {
    const named = this.#named(id);
    const isLong = ({ isLongRunning }: SessionCall): boolean => isLongRunning;
    return named.findLast((call) => this.#waits(call)) ?? named.findLast(isLong) ?? named.at(-1);
  }

  /** The calls that run the agents around a call as tools, outermost first. A call that is not among the events is left out. */
  enclosing(call: SessionCall): SessionCall[] {
    return enclosuresOf(call.branch).flatMap(({ around, callId }) => this.#before(call, callId, around) ?? []);
  }

  /** The call that opened the isolation scope of a call; undefined without a scope, and for a scope that no call opened. (ADK 2.) */
  opener(call: SessionCall): SessionCall | undefined {
    const { isolationScope } = call.event;
    return isolationScope === undefined ? undefined : this.#before(call, isolationScope, call.branch);
  }

  /** The newest call before another one, by id and branch; one of the same run comes before those of other runs. */
  #before({ event, eventIndex }: SessionCall, id: string, branch = ''): SessionCall | undefined {
    const before = this.#named(id).filter((call) => (call.branch ?? '') === branch && call.eventIndex < eventIndex);
    return before.findLast((call) => call.event.invocationId === event.invocationId) ?? before.at(-1);
  }

  /** The calls that an event made, in order. */
  madeIn(event: Event): readonly SessionCall[] {
    return this.#madeIn.get(event) ?? NO_CALLS;
  }

  /** The calls that the responses in an event belong to, in the order of the responses. */
  respondedIn(event: Event): readonly SessionCall[] {
    return this.#respondedIn.get(event) ?? NO_CALLS;
  }

  /** Calls of a run without a response, oldest first. Leaves out requests to people and calls that the run repeated. */
  unanswered(invocationId: string): SessionCall[] {
    return [...this.#withoutResponse].filter(
      (call) =>
        call.event.invocationId === invocationId && !isPersonRequest(call.call) && this.#isNewest(call, invocationId),
    );
  }

  /**
   * Calls in the state `decided` that a run is to continue, oldest first. They belong to the run of the newest answer,
   * which runs them. Once that run has ended, they belong to the runs that made the call or have another answer.
   */
  decided(invocationId: string): SessionCall[] {
    const decided = [...(this.#withRequests ?? [])].filter((call) => {
      const answers = answersToUnsettled(call);
      const [newest] = answers;
      if (!newest || stateOf(call) !== 'decided') return false;
      const runs = [call, ...answers].map(({ event }) => event.invocationId);
      const isElsewhere = newest.event.invocationId !== invocationId && this.canContinue(newest.event.invocationId);
      return runs.includes(invocationId) && !isElsewhere && this.#find(call.id, call.branch, invocationId) === call;
    });
    return decided.sort((one, other) => one.eventIndex - other.eventIndex || placeOf(one) - placeOf(other));
  }

  /** True if a run may have calls without their response. */
  mayLackResponses(invocationId: string): boolean {
    for (const { event } of this.#withoutResponse) if (event.invocationId === invocationId) return true;
    return this.#withRequests !== undefined && this.#withRequests.size > 0;
  }

  /** Long-running calls of a run, requests to people included, with and without responses, oldest first. */
  longRunningIn(invocationId: string): readonly SessionCall[] {
    return this.#longRunning?.get(invocationId) ?? NO_CALLS;
  }

  /** Long-running calls that can still have their first response, oldest first. */
  get waiting(): SessionCall[] {
    return [...this.#withoutResponse].filter((call) => this.#waits(call));
  }

  /** The `waiting` calls of a run, and the calls that its waiting requests to people are about. */
  waitingIn(invocationId: string): SessionCall[] {
    const waiting = this.waiting.filter(({ event }) => event.invocationId === invocationId);
    return [...new Set(waiting.flatMap((call) => (call.about && !isSettled(call) ? [call.about, call] : [call])))];
  }

  /**
   * True for a run that can continue, and waits for the response to one of its calls, or for the result of long-running
   * work that was approved.
   */
  isRunWaiting(invocationId: string): boolean {
    return (
      this.canContinue(invocationId) &&
      (this.waitingIn(invocationId).length > 0 ||
        this.decided(invocationId).some(({ isLongRunning }) => isLongRunning) ||
        this.longRunningIn(invocationId).some(isAwaitedByNode))
    );
  }

  /**
   * The calls of `unanswered` and `decided` to which nobody but the run could respond. Leaves out long-running calls.
   * While the run waits, it also leaves out what may wait with it: the approved calls of agents that a tool or a graph
   * runs, and the calls around agents that ask.
   */
  unfinished(invocationId: string): SessionCall[] {
    const unanswered = this.unanswered(invocationId).filter(({ isLongRunning }) => !isLongRunning);
    const decided = this.decided(invocationId).filter(({ isLongRunning }) => !isLongRunning);
    const unfinished = [...new Set([...unanswered, ...decided])];
    if (!this.isRunWaiting(invocationId)) return unfinished;
    const around = new Set(this.longRunningIn(invocationId).flatMap((call) => this.enclosing(call)));
    return unfinished.filter(
      (call) => !around.has(call) && !(decided.includes(call) && enclosureOf(call.branch) !== ''),
    );
  }

  /**
   * True for a long-running call that can still have its first response: it is the newest of its id on its branch, or
   * in an agent that runs as a tool, whose branch may have the same name in each run, the newest of its run.
   */
  #waits(call: SessionCall): boolean {
    const { branch, isLongRunning, responses, event } = call;
    if (!isLongRunning || responses.length > 0) return false;
    return this.#isNewest(call, enclosureOf(branch) === '' ? '' : event.invocationId);
  }

  /** True if a newer call has the id and the branch of a call: a response would belong to that one. */
  isReplaced(call: SessionCall): boolean {
    return !this.#isNewest(call, '');
  }

  /** True for the newest call of its id on its branch. @param run compares it only with calls of this run; empty: with those of all runs */
  #isNewest(call: SessionCall, run: string): boolean {
    return this.#named(call.id).length === 1 || this.#newest?.get(keyOf(call.id, call.branch, run)) === call;
  }

  /**
   * True for a resumable run without its end: it is in progress, was left by its process, or waits for an answer. See
   * the table of `OpenRun`.
   */
  canContinue(invocationId: string): boolean {
    return this.#runs?.get(invocationId) === 'canContinue';
  }

  /** True for a resumable run that has its end. */
  hasEnded(invocationId: string): boolean {
    return this.#runs?.get(invocationId) === 'ended';
  }

  /**
   * Finds the calls that the responses of a new message answer: for each id the newest call that is long-running and
   * the last of its id on its branch. If its run made such calls on several branches, each response takes another one
   * without a response. Without such a call, the newest of the id, so that the caller can say why it takes no response.
   *
   * Calls that were imported are never found, and those of an agent that runs as a tool only until the agent ends, in a
   * run that can continue, or if they were cancelled.
   *
   * @param ids the ids of the message's responses, in their order
   * @param invocationId only calls of this run; default: of every run
   * @returns the call of each response; undefined for one that answers no call
   */
  answerable(ids: readonly string[], invocationId?: string): (SessionCall | undefined)[] {
    const byId = new Map<string, Answerable>();
    return ids.map((id) => {
      let found = byId.get(id);
      if (!found) byId.set(id, (found = this.#answerable(id, invocationId)));
      return found.free.pop() ?? found.newest;
    });
  }

  #answerable(id: string, invocationId: string | undefined): Answerable {
    const named = this.#named(id).filter(
      ({ event, isImported }) => !isImported && (invocationId === undefined || event.invocationId === invocationId),
    );
    const calls = named.filter(
      (call) => enclosureOf(call.branch) === '' || isOnNodeBranch(call.event) || this.#isOfWaitingTool(call),
    );
    const lastOnBranch = new Map(calls.map((call) => [call.branch, call]));
    const waiting = calls.filter((call) => call.isLongRunning && lastOnBranch.get(call.branch) === call);
    const newest = waiting.at(-1);
    const free = waiting.filter(
      (call) => call.event.invocationId === newest?.event.invocationId && call.responses.length === 0,
    );
    return { free, newest: newest ?? calls.at(-1) ?? named.findLast(isCancelled) };
  }

  /** True for a long-running call of an agent that runs as a tool, and has not ended. */
  #isOfWaitingTool(call: SessionCall): boolean {
    if (!call.isLongRunning || !this.canContinue(call.event.invocationId)) return false;
    return this.enclosing(call).every((around) => stateOf(around) !== 'done');
  }
}

/** The state of a call: see `stateOf`. */
type CallState = 'open' | 'asked' | 'decided' | 'done';

/**
 * Returns the state of a call. A request to a person is a call as well: `open` until the person answers it, and then `done`.
 *
 * | state     | the call                                                                                                      |
 * | --------- | ------------------------------------------------------------------------------------------------------------- |
 * | `open`    | has no response: it runs, was interrupted, or is long-running and waits for a client or a person              |
 * | `asked`   | waits for a person: a request about it has no answer                                                          |
 * | `decided` | has an answer to every request about it, and no result since: it is to run again, or was interrupted          |
 * | `done`    | has its response, or the status of its long-running tool: see `lacksResult`; or it was cancelled: `isCancelled` |
 */
export function stateOf(call: SessionCall): CallState {
  const requests = unsettledRequests(call);
  if (requests.length === 0) return call.responses.length === 0 ? 'open' : 'done';
  return requests.some(({ responses }) => responses.length === 0) ? 'asked' : 'decided';
}

/** True for a call that was cancelled with its run or its agent, so that no message can answer it. */
export function isCancelled({ responses }: SessionCall): boolean {
  return responses.some(({ event }) => hasTag(event, EventTag.cancelled));
}

/** True for a long-running call of an agent in a node of a workflow that has only the status of its tool: the node waits for the result. */
function isAwaitedByNode(call: SessionCall): boolean {
  return isOfWorkflowNode(call.event) && call.responses.length > 0 && lacksResult(call);
}

/**
 * True for a call that has no response, or only the status of its long-running tool. A call that was cancelled or
 * interrupted gets no result.
 */
export function lacksResult({ responses }: SessionCall): boolean {
  return responses.every(
    ({ event, response }) => event.author !== 'user' && !hasTag(event, EventTag.cancelled) && !isInterruption(response),
  );
}

/** Returns the newest response that a user gave to a call; undefined if there is none. */
export function answerOf({ responses }: SessionCall): CallResponse | undefined {
  return responses.findLast(({ event }) => event.author === 'user');
}

/** Returns the requests about a call that need more work, oldest first: they have no answer, or the call has no result since. */
export function unsettledRequests({ requests }: SessionCall): readonly SessionCall[] {
  return requests.length === 0 ? requests : requests.filter((request) => !isSettled(request));
}

/**
 * True if a request to a person needs no more work: the call that it is about has had two responses since, one that says that it
 * waits and one with its result. Requests are stored before the response that says that their call waits, so both are behind the request.
 * A request of an agent is settled by its answer, and a cancelled request is settled.
 */
function isSettled(request: SessionCall): boolean {
  const { about, eventIndex, responses } = request;
  return about && !isCancelled(request)
    ? about.responses.filter((response) => response.eventIndex > eventIndex).length > 1
    : responses.length > 0;
}

/** Returns the answers to the unsettled requests about this call, newest first. An event with several of them counts once. */
export function answersToUnsettled(call: SessionCall): CallResponse[] {
  const answers = unsettledRequests(call).flatMap(({ responses }) => responses);
  const byEvent = new Map(answers.map((answer) => [answer.eventIndex, answer]));
  return [...byEvent.values()].sort((one, other) => other.eventIndex - one.eventIndex);
}

const CALLS = new DerivedKey<Calls>('calls');
const NO_CALLS: readonly SessionCall[] = [];
/** The empty lists of a new call: `listWith` replaces them. */
const EMPTY: never[] = [];

/** Adds an item to a list. Most lists have one item, and pushing to an empty list would allocate room for 17. */
function listWith<T>(list: T[] | undefined, item: T): T[] {
  if (!list?.length) return [item];
  list.push(item);
  return list;
}

function placeOf(call: SessionCall): number {
  return call.inReply.indexOf(call);
}

/** No agent has this name. */
const ANY_BRANCH = '*';

function keyOf(id: string, branch = '', invocationId = ''): string {
  return `${id}\0${branch}\0${invocationId}`;
}

function idOf({ id, name }: { readonly id?: string; readonly name?: string }): string {
  return id ?? name ?? '';
}
