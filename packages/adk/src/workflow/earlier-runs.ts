import { type Event, type InvocationContext, REQUEST_INPUT } from '@eventloom/core';
import { Calls, enclosingCallIds, isPersonRequest, lacksResult } from '@eventloom/core/internal';
import type { BaseNode } from './base-node.ts';
import type { NodeResult } from './node-context.ts';
import { WorkflowHistory, type NodeRecord, toNodeEnd } from './workflow-history.ts';
import type { WorkflowStream } from './workflow-stream.ts';

/** The runs of nodes before the workflow was continued. Decides which of them are not repeated, and what is left to do for these. */
export class EarlierRuns {
  readonly history: WorkflowHistory;
  readonly #context: InvocationContext;
  readonly #stream: WorkflowStream;

  constructor(context: InvocationContext, stream: WorkflowStream) {
    this.history = new WorkflowHistory(context);
    this.#context = context;
    this.#stream = stream;
  }

  /**
   * Returns the position in the history at which the next run of a node in a graph ended or was answered; undefined if the node is to work.
   * @param nodePath the path of the node around the graph
   */
  knownAt(nodePath: string, node: BaseNode): number | undefined {
    const prior = this.history.peek(`${nodePath}.${node.name}`, node);
    if (!prior || isUnfinishedTask(node, prior) || !this.resultOf(prior, node, undefined)) return undefined;
    return prior.isDone ? prior.end : Math.max(prior.end, prior.answeredAt);
  }

  /**
   * Takes the next earlier run of a node from the history. A task agent that spoke without finishing its task speaks
   * again after a message: its run is the newest of these.
   */
  take(nodePath: string, node: BaseNode): NodeRecord | undefined {
    let prior = this.history.take(nodePath, node);
    while (prior && isUnfinishedTask(node, prior)) {
      const next = this.history.take(nodePath, node);
      if (!next && !this.history.isPrompted) break;
      this.#skip(prior.events);
      prior = next;
    }
    return prior;
  }

  /** Returns the result of an earlier run that need not be repeated, or that still waits. A question that was cancelled counts as none. */
  resultOf(prior: NodeRecord, node: BaseNode, outerBranch: string | undefined): NodeResult | undefined {
    const { output, route, branch = outerBranch, questions, answers } = prior;
    const done = { output, route, branch, interruptIds: [] };
    if (prior.isDone) return done;
    if (questions.size === 0) return undefined;
    const { session, derived } = this.#context.invocation;
    const calls = Calls.of({ session, derived });
    const made = prior.events.flatMap((event) => calls.madeIn(event));
    const settled = new Set(made.filter((call) => !lacksResult(call)).map(({ id }) => id));
    const open = [...questions.keys()].filter((id) => !answers.has(id) && !settled.has(id));
    const isAsked = open.some((id) => isPersonRequest(questions.get(id) ?? {}) || this.history.waitingCallIds.has(id));
    // An agent whose process was lost may have calls to run, and otherwise finds out that it still waits.
    const isLeft = !node.continuesCalls || (isAsked && this.history.isPrompted);
    if (open.length > 0 && answers.size === 0 && isLeft) return { ...done, interruptIds: open };
    if (node.rerunOnResume || answers.size === 0) return undefined;
    if (open.length > 0) return { ...done, interruptIds: open };
    const values = [...questions.keys()].map((id) => answers.get(id));
    return { ...done, output: values.length === 1 ? values[0] : values };
  }

  /**
   * Does what is left to do for a run that is not repeated: a run that is done is stored as such, and the open
   * questions of another are asked again.
   */
  async settle(
    prior: NodeRecord,
    known: NodeResult,
    { name, nodePath }: { readonly name: string; readonly nodePath: string },
  ): Promise<void> {
    const skipped = this.history.dropWithin(nodePath, prior);
    if (known.interruptIds.length > 0) {
      if (this.history.isPrompted) await this.#askAgain(prior.events, known.interruptIds);
      return;
    }
    this.#skip([...skipped, ...prior.events]);
    if (!prior.isDone && this.#context.isResumable) await this.#storeAnswer(name, nodePath, known);
  }

  /** Stores that a node is done whose output is an answer, so that another answer to its question is refused. */
  async #storeAnswer(author: string, path: string, { output, route, branch }: NodeResult): Promise<void> {
    const agentState = toNodeEnd(false, { value: output }, route);
    const event = this.#context.createEvent({ author, nodeInfo: { path }, actions: { agentState } });
    await this.#stream.post(branch === undefined ? event : { ...event, branch });
  }

  /** Posts the requests of a node that are still open, so that the reader of this run sees what it waits for. */
  async #askAgain(events: readonly Event[], open: readonly string[]): Promise<void> {
    const posted = new Set<string>();
    for (const event of events) {
      const { author, branch, isolationScope, nodeInfo, content } = event;
      const parts = (content?.parts ?? []).filter(
        ({ functionCall }) =>
          functionCall &&
          isPersonRequest(functionCall) &&
          open.includes(functionCall.id ?? '') &&
          !posted.has(functionCall.id ?? ''),
      );
      const longRunningToolIds = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
      if (parts.length === 0) continue;
      for (const id of longRunningToolIds) posted.add(id);
      const isOfRun = event.invocationId === this.#context.invocationId;
      if (isOfRun || parts.some(({ functionCall }) => functionCall?.name !== REQUEST_INPUT)) {
        // A request about a tool call comes before the response that says that the call waits, so it is not stored once more.
        this.#context.progress.noteCommitted(event);
        await this.#stream.post(event);
        continue;
      }
      await this.#stream.post(
        this.#context.createEvent({
          author,
          content: { role: 'model', parts },
          longRunningToolIds,
          ...(branch === undefined ? {} : { branch }),
          ...(isolationScope === undefined ? {} : { isolationScope }),
          ...(nodeInfo && { nodeInfo }),
        }),
      );
    }
  }

  /**
   * Restores what a node that is done left behind: its agents are not continued, and the next agents have read what it said.
   * @param events its events, and those of the nodes that it ran
   */
  #skip(events: readonly Event[]): void {
    for (const event of events) {
      if (event.executionId !== undefined) this.#context.invocation.resumedLog?.skip(event.executionId);
      this.#stream.noteSaid(event);
    }
  }

  /**
   * Lets the next attempt of a node continue the last one that was stored, and returns the number of those before that one.
   * @param run the beginning of the ids of the attempts
   */
  leaveFailedAttempts(events: readonly Event[], run: string): number {
    const { executionId: parent } = this.#context;
    const ids = events.flatMap(({ branch }) => enclosingCallIds(branch).filter((id) => id.startsWith(run)));
    const own = events.filter(({ parentExecutionId }) => parentExecutionId === parent);
    const continued = own.at(-1)?.executionId;
    for (const { executionId } of own)
      if (executionId !== undefined && executionId !== continued)
        this.#context.invocation.resumedLog?.skip(executionId);
    return Math.max(1, ...ids.map((id) => Number(id.slice(run.length)))) - 1;
  }
}

/** Returns true for a run of a task agent that ended without finishing the task. */
function isUnfinishedTask({ continuesCalls, waitForOutput }: BaseNode, { isDone, output, route }: NodeRecord): boolean {
  return continuesCalls && waitForOutput && isDone && output === undefined && route === undefined;
}
