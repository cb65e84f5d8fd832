import {
  type BaseAgent,
  type Content,
  contentText,
  type Event,
  getFunctionCalls,
  getStructuredOutput,
  isFinalResponse,
  type JsonValue,
} from '@eventloom/core';
import {
  type AbortGuard,
  ReplyBuffer,
  enclosedBranch,
  enclosureOf,
  jsonOrText,
  withoutText,
} from '@eventloom/core/internal';
import { checkpointOf, FINISH } from './checkpoint.ts';
import { NodeError } from './errors.ts';
import { toOutput } from './json-values.ts';
import type { NodeOutcome } from './node-outcome.ts';
import type { NodeRun } from './node-run.ts';

/** Runs one attempt of an agent node. The agent has its own branch, and its events are passed on as they arrive. */
export async function runAgent(
  run: NodeRun,
  agent: BaseAgent,
  input: JsonValue | undefined,
  attempt: number,
  guard: AbortGuard,
): Promise<NodeOutcome> {
  const context = run.beginAttempt();
  const callId = run.agentCallId(attempt);
  const enclosure = enclosedBranch(context.branch, agent.name, callId);
  const reply = new LastReply(agent);
  let isWaiting = false;
  const events = context.runSubInvocation({
    agent,
    userContent: { role: 'user', parts: [{ text: typeof input === 'string' ? input : JSON.stringify(input ?? null) }] },
    callId,
    streaming: true,
    abort: guard,
    inTurn: run.inTurn,
    onRecorded: (event) => reply.add(event),
    onPause: () => (isWaiting = true),
  });
  const buffer = new ReplyBuffer((event) => run.post(event));
  try {
    for await (const event of events) {
      // Events of inner agents are for the agents that called them, not part of the reply.
      const isOwn = enclosureOf(event.branch) === enclosure;
      if (isOwn) reply.add(event);
      await buffer.pass(event, isOwn && isReply(event));
    }
  } catch (error) {
    await buffer.release();
    throw error;
  }
  const said = reply.last;
  const fault = isWaiting ? undefined : faultOf(said);
  const isDone = !isWaiting && fault === undefined;
  await buffer.release(
    isDone
      ? (event) => {
          const shown = withoutText(event);
          context.progress.noteCommitted(shown);
          return shown;
        }
      : undefined,
  );
  if (isWaiting) return { isWaiting };
  if (fault !== undefined) throw new NodeError(run.node.name, fault);
  return {
    isWaiting: false,
    output: toOutput(run.node.name, reply.output),
    content: contentOf(said),
    // A chat that has the answer of the agent does not show it once more for the node.
    responseId: said?.responseId ?? said?.id,
  };
}

/** Returns the content of a reply without calls and responses, which belong to the branch of the agent; undefined if nothing is left. */
function contentOf(said: Event | undefined): Content | undefined {
  const parts = said?.content?.parts?.filter(
    ({ functionCall, functionResponse }) => !functionCall && !functionResponse,
  );
  return parts?.length ? { ...said?.content, parts } : undefined;
}

/**
 * Returns the reason why an agent's last event is not a reply; undefined if it is one. An agent that stopped at a
 * long-running call waits for its result: the agent would have continued with it.
 */
function faultOf(said: Event | undefined): string | undefined {
  if (said?.errorCode !== undefined) return said.errorMessage ?? said.errorCode;
  const calls = said ? getFunctionCalls(said) : [];
  const open = calls.find(({ id = '' }) => said?.longRunningToolIds?.includes(id)) ?? calls[0];
  return open && `waits for the result of "${open.name}"; run it with \`resumable: true\``;
}

/** Collects the reply of an agent from its events. */
class LastReply {
  readonly #agent: BaseAgent;
  #finish: Event | undefined;
  /** The last event with content. */
  last: Event | undefined;

  constructor(agent: BaseAgent) {
    this.#agent = agent;
  }

  add(event: Event): void {
    if (event.partial === true || event.author === 'user') return;
    if (checkpointOf(event)?.run === FINISH) this.#finish = event;
    if (event.output !== undefined || isFinalResponse(event)) this.last = event;
  }

  /** The agent's output: that of a graph, the value of an output schema, or the text of the last event. */
  get output(): unknown {
    const finish = this.#finish && checkpointOf(this.#finish);
    if (finish) return finish.output;
    if (!this.last) return '';
    const value = this.last.output ?? getStructuredOutput(this.last);
    if (value !== undefined) return value;
    const text = contentText(this.last.content);
    return 'outputSchema' in this.#agent && this.#agent.outputSchema !== undefined ? jsonOrText(text) : text;
  }
}

/**
 * Returns true for an event that may be the agent's reply. Errors and events that ask are not held back, also if they
 * are answered later.
 */
function isReply(event: Event): boolean {
  return (
    event.partial !== true &&
    event.errorCode === undefined &&
    isFinalResponse(event) &&
    !event.longRunningToolIds?.length
  );
}
