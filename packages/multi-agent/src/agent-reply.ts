import {
  contentText,
  type Event,
  type EventActions,
  getFunctionCalls,
  getFunctionResponses,
  getStructuredOutput,
  isFinalResponse,
} from '@eventloom/core';
import { setOwn } from '@eventloom/core/internal';

/** Collects the reply and the saved artifacts of an agent that was called as a tool, from its events. */
export class AgentReply {
  readonly #agentName: string;
  readonly #actions: EventActions;
  #last: Event | undefined;
  /** The sources of the last reply that had some. */
  groundingMetadata: Event['groundingMetadata'];

  /** @param actions actions of the tool's response, which the artifacts are added to */
  constructor(agentName: string, actions: EventActions) {
    this.#agentName = agentName;
    this.#actions = actions;
  }

  /** Reads one event of the agent. Ignores partial events. */
  add(event: Event): void {
    if (event.partial === true) return;
    for (const [name, version] of Object.entries(event.actions.artifactDelta))
      setOwn(this.#actions.artifactDelta, name, version);
    if (event.output !== undefined || isFinalResponse(event)) this.#last = event;
    this.groundingMetadata = event.groundingMetadata ?? this.groundingMetadata;
  }

  /**
   * Returns the tool's result: the value or the text of the agent's last reply, an empty string without a reply, or `{ error }`. A
   * truncated reply becomes an error with the received part as `output`. An agent that stopped at a long-running call waits for its result,
   * also if the call has a response: that of its tool is only a status, and the agent would have continued with one of a client.
   */
  result(): unknown {
    const event = this.#last;
    if (!event) return '';
    const open = getFunctionCalls(event).find((call) => event.longRunningToolIds?.includes(call.id ?? ''));
    if (open) {
      return {
        error: `${this.#agentName} waits for the result of ${open.name}, which comes later; an agent that is called as a tool can wait only in a resumable run, and not within a tool that is not idempotent`,
      };
    }
    const said = outputOf(event);
    if (event.errorCode === undefined) return said === undefined ? '' : said;
    const error = event.errorMessage ?? event.errorCode;
    return said === undefined ? { error } : { error, output: said };
  }
}

/** Returns the output of an event, or undefined if it has none. */
function outputOf(event: Event): unknown {
  if (event.output !== undefined) return event.output;
  const value = getStructuredOutput(event);
  if (value !== undefined) return value;
  const text = contentText(event.content);
  if (text !== '') return text;
  const responses = getFunctionResponses(event).map(({ response }) => response);
  return responses.length > 1 ? responses : responses[0];
}
