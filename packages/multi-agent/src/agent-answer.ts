import {
  contentText,
  type Event,
  type EventActions,
  getFunctionCalls,
  getFunctionResponses,
  getStructuredOutput,
  isFinalResponse,
  setOwn,
} from '@eventloom/core';

/** What an agent that was called as a tool answered, gathered from its events, and what it changed on the way. */
export class AgentAnswer {
  readonly #agentName: string;
  readonly #actions: EventActions;
  #last: Event | undefined;

  /** @param actions those of the tool's response: what the agent's events changed is added to them */
  constructor(agentName: string, actions: EventActions) {
    this.#agentName = agentName;
    this.#actions = actions;
  }

  add(event: Event): void {
    if (event.partial === true) return;
    this.#addChanges(event.actions);
    if (isFinalResponse(event)) this.#last = event;
  }

  #addChanges({ stateDelta, removedState, artifactDelta }: EventActions): void {
    const actions = this.#actions;
    for (const [key, value] of Object.entries(stateDelta)) {
      setOwn(actions.stateDelta, key, value);
      if (actions.removedState?.includes(key))
        actions.removedState = actions.removedState.filter((each) => each !== key);
    }
    for (const key of removedState ?? []) {
      delete actions.stateDelta[key];
      if (!actions.removedState?.includes(key)) (actions.removedState ??= []).push(key);
    }
    for (const [name, version] of Object.entries(artifactDelta)) setOwn(actions.artifactDelta, name, version);
  }

  /** The value of the last answer, its text, or what is to be told in place of one. */
  result(): unknown {
    const event = this.#last;
    if (!event) return '';
    const open = getFunctionCalls(event).find((call) => event.longRunningToolIds?.includes(call.id ?? ''));
    if (open) {
      return {
        error: `${this.#agentName} waits for the result of ${open.name}, which comes later; an agent that is called as a tool cannot wait`,
      };
    }
    const value = getStructuredOutput(event);
    if (value !== undefined) return value;
    const text = contentText(event.content);
    if (text !== '') return text;
    const responses = getFunctionResponses(event);
    if (responses.length > 0)
      return responses.length === 1 ? responses[0]?.response : responses.map(({ response }) => response);
    return event.errorMessage === undefined ? '' : { error: event.errorMessage };
  }
}
