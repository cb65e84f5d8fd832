import type { EventActions, JsonObject, JsonValue, ToolLedgerEntry } from '@eventloom/core';
import type { GraphStep } from './graph-step.ts';
import type { NodeOutcome } from './node-outcome.ts';
import { toOutput } from './run-function.ts';

/** What the session's ledger has of one run of a node. */
export class NodeLedger {
  readonly #graph: GraphStep;
  readonly #nodeName: string;

  constructor(graph: GraphStep, nodeName: string) {
    this.#graph = graph;
    this.#nodeName = nodeName;
  }

  /** What there is of a call, when the graph goes on. */
  recorded(call: string): Promise<ToolLedgerEntry | undefined> {
    return this.#graph.recorded(call);
  }

  /** Writes that a call begins, or, with a response, that it is finished. */
  record(call: string, response?: JsonObject, actions?: Partial<EventActions>): Promise<void> {
    const { invocation, invocationId } = this.#graph.context;
    return invocation.recordToolCall({
      invocationId,
      callId: this.#graph.ledgerId(call),
      name: this.#nodeName,
      status: response ? 'finished' : 'started',
      ...(response ? { response } : {}),
      ...(actions ? { actions } : {}),
    });
  }

  /** Writes what came of a function. */
  recordOutcome(run: string, { output, updates = [], route, actions }: NodeOutcome): Promise<void> {
    const response: JsonObject = { updates: updates.map(([name, value]) => [name, value]) };
    if (output !== undefined) response['output'] = output;
    if (route !== undefined) response['route'] = route;
    return this.record(run, response, actions);
  }

  /** What came of a run that finished. */
  outcomeOf({ response = {}, actions }: ToolLedgerEntry): NodeOutcome {
    const { route } = response;
    // It was written here.
    const updates = (response['updates'] ?? []) as [string, JsonValue][];
    return {
      isWaiting: false,
      output: toOutput(this.#nodeName, response['output']),
      updates,
      route: typeof route === 'string' ? route : undefined,
      actions,
    };
  }
}
