import {
  type BaseTool,
  ConfigurationError,
  createEventActions,
  type EventActions,
  type JsonObject,
  type JsonValue,
  type ToolContext,
  type ToolLedgerEntry,
} from '@eventloom/core';
import { ledgerActions, type LedgerOutcome, runUnderLedger } from '@eventloom/core/internal';
import type { GraphStep } from './graph-step.ts';
import type { NodeOutcome } from './node-outcome.ts';
import { frozen, toOutput } from './json-values.ts';

/** The output of a tool node whose call was interrupted and may not run again. */
const INTERRUPTED: JsonObject = frozen({ error: 'interrupted' });

/** Reads and writes the session's tool ledger for one run of a node. */
export class NodeLedger {
  readonly #graph: GraphStep;
  readonly #nodeName: string;
  readonly #given: string | undefined;

  /** @param given digest of the input if another node runs this one, otherwise undefined */
  constructor(graph: GraphStep, nodeName: string, given: string | undefined) {
    this.#graph = graph;
    this.#nodeName = nodeName;
    this.#given = given;
  }

  /** Returns the ledger entry of a call; undefined if there is none, or the graph is not resumed. */
  recorded(call: string): Promise<ToolLedgerEntry | undefined> {
    return this.#graph.recorded(call);
  }

  /** Records that a call has started or, with a response, that it has finished. Temporary state in the actions is not recorded. */
  async record(call: string, response?: JsonObject, actions?: Partial<EventActions>): Promise<void> {
    const { context } = this.#graph;
    const { invocation, invocationId } = context;
    const changed = actions && ledgerActions(context, actions);
    await invocation.ledger.recordToolCall({
      invocationId,
      entryId: this.#graph.entryId(call),
      name: this.#nodeName,
      status: response ? 'finished' : 'started',
      ...(response ? { response: this.#withGiven(response) } : {}),
      ...(changed ? { actions: changed } : {}),
    });
  }

  /** Runs a tool under the ledger: see `runUnderLedger`. A call whose attempt timed out was interrupted, for the next attempt. */
  async runTool(
    call: string,
    tool: BaseTool,
    toolContext: ToolContext,
    run: () => Promise<NodeOutcome>,
  ): Promise<NodeOutcome> {
    const { context, interrupted: stopped } = this.#graph;
    let own: NodeOutcome | undefined;
    const runTool = async (): Promise<LedgerOutcome> => {
      stopped.add(call);
      try {
        own = await run();
      } finally {
        if (!toolContext.invocationContext.abortSignal.aborted) stopped.delete(call);
      }
      const { isWaiting, output, actions } = own;
      const response = this.#withGiven(output === undefined ? {} : { output });
      return { response, actions: actions && createEventActions(actions), isPaused: isWaiting };
    };
    const id = { entryId: this.#graph.entryId(call), name: this.#nodeName };
    const interrupted = this.#withGiven({ output: INTERRUPTED });
    const begun = { ...id, invocationId: context.invocationId, status: 'started' } as const;
    const before = stopped.has(call) ? begun : await this.recorded(call);
    const recorded = await runUnderLedger(context, id, before, tool, { toolContext, runTool, interrupted });
    return own ?? this.outcomeOf(recorded);
  }

  #withGiven(response: JsonObject): JsonObject {
    return this.#given === undefined ? response : { ...response, given: this.#given };
  }

  /** Records a failed attempt that will be retried. */
  async recordFailure(run: string, attempt: number, message: string): Promise<void> {
    if (this.#graph.context.isResumable) await this.record(attemptId(run, attempt), { error: message });
  }

  /** Returns the number of attempts that failed and were retried. */
  async failures(run: string): Promise<number> {
    let count = 0;
    while (await this.recorded(attemptId(run, count + 1))) count++;
    return count;
  }

  /** Records the outcome of a function. */
  recordOutcome(run: string, outcome: NodeOutcome): Promise<void> {
    const { output, updates = [], route, actions } = outcome;
    const response: JsonObject = { updates: updates.map(([name, value]) => [name, value]) };
    if (output !== undefined) response['output'] = output;
    if (route !== undefined) response['route'] = route;
    this.#graph.finished.set(run, outcome);
    return this.record(run, response, actions);
  }

  /** Returns the outcome of a function that finished; undefined if it did not. */
  async outcome(run: string): Promise<NodeOutcome | undefined> {
    const finished = this.#graph.finished.get(run);
    if (finished) return finished;
    const recorded = await this.recorded(run);
    return recorded?.status === 'finished' ? this.outcomeOf(recorded) : undefined;
  }

  /** Returns the outcome of a run that finished. @throws ConfigurationError if the run had another input then */
  outcomeOf({ response = {}, actions }: Pick<ToolLedgerEntry, 'response' | 'actions'> | LedgerOutcome): NodeOutcome {
    const { route, given } = response;
    this.checkGiven(given);
    // Written by `recordOutcome`.
    const updates = (response['updates'] ?? []) as [string, JsonValue][];
    return {
      isWaiting: false,
      output: toOutput(this.#nodeName, response['output']),
      updates,
      route: typeof route === 'string' ? route : undefined,
      actions,
    };
  }

  /** Checks that the input is that of the completed run. @throws ConfigurationError if the completed run had another input than this one */
  checkGiven(given: unknown): void {
    if (given === this.#given) return;
    throw new ConfigurationError(
      `node "${this.#nodeName}": has already run with this key and another input; call runNode with the same input, or with another \`key\``,
    );
  }
}

function attemptId(run: string, attempt: number): string {
  return `${run}!${attempt}`;
}
