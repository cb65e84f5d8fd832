import {
  CallbackContext,
  type EventActions,
  firstAnswer,
  type LlmRequest,
  type LlmResponse,
  toError,
} from '@eventloom/core';
import { observeGenerator, type ObservedOperation, startOperation } from '@eventloom/core/internal';
import type { AgentTurn } from '../agent-turn.ts';
import { copyRequest } from './copy-request.ts';

/** The callbacks around one model call; their state changes gather in the actions of the event to come. */
export class ModelCall {
  readonly request: LlmRequest;
  /** Whether there are callbacks for responses. */
  readonly asksAfter: boolean;
  /** What the callbacks did to state and artifacts. */
  actions: EventActions;
  readonly #turn: AgentTurn;
  readonly #asksBefore: boolean;
  /** Observes the call. */
  #operation: ObservedOperation | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @param actions that the request was prepared with */
  constructor(turn: AgentTurn, request: LlmRequest, actions: EventActions) {
    const { agent, context } = turn;
    this.#turn = turn;
    this.actions = actions;
    this.#asksBefore = agent.beforeModelCallback.length > 0 || context.plugins.has('beforeModelCallback');
    this.asksAfter = agent.afterModelCallback.length > 0 || context.plugins.has('afterModelCallback');
    this.request = this.#asksBefore ? copyRequest(request) : request;
  }

  get #context(): CallbackContext {
    return new CallbackContext({ invocationContext: this.#turn.context, eventActions: this.actions });
  }

  /** Asks the callbacks before the call. A response is used instead of the model's. */
  before(): Promise<LlmResponse | undefined> | undefined {
    return this.#asksBefore ? this.#before() : undefined;
  }

  async #before(): Promise<LlmResponse | undefined> {
    const { agent, context } = this.#turn;
    const { request } = this;
    const callbackContext = this.#context;
    return (
      (await context.plugins.first('beforeModelCallback', { callbackContext, llmRequest: request })) ??
      firstAnswer(agent.beforeModelCallback, { context: callbackContext, request })
    );
  }

  /** Asks the model. Instrumentation observes the call, if there is any. */
  generate(streaming: boolean): AsyncGenerator<LlmResponse, void, void> {
    const { model, context } = this.#turn;
    const { abortSignal, invocation } = context;
    const { request } = this;
    if (!invocation.instrumentation) return model.generateContentAsync(request, streaming, abortSignal);
    const operation = startOperation(invocation, { kind: 'model', context, request });
    const ask = (): AsyncGenerator<LlmResponse, void, void> =>
      model.generateContentAsync(request, streaming, abortSignal);
    this.#operation = operation;
    return operation ? observeGenerator(operation, operation.run(ask), abortSignal) : ask();
  }

  /** The response as the callbacks want it. */
  after(response: LlmResponse): LlmResponse | Promise<LlmResponse> {
    this.#operation?.response(response);
    return this.asksAfter ? this.#after(response) : response;
  }

  /** True for what a callback threw after a response: it is no failure of the model. */
  isOwnFailure(error: unknown): boolean {
    return this.#failure !== undefined && this.#failure.error === error;
  }

  async #after(response: LlmResponse): Promise<LlmResponse> {
    const { agent, context } = this.#turn;
    const callbackContext = this.#context;
    try {
      const answer =
        (await context.plugins.first('afterModelCallback', { callbackContext, llmResponse: response })) ??
        (await firstAnswer(agent.afterModelCallback, { context: callbackContext, response }));
      return answer && answer !== response ? withPartialOf(response, answer) : response;
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** What the callbacks make of a failed call; undefined lets it fail. */
  async onError(thrown: unknown): Promise<LlmResponse | undefined> {
    const { agent, context } = this.#turn;
    const error = toError(thrown);
    const request = this.#asksBefore ? this.request : copyRequest(this.request);
    const callbackContext = this.#context;
    return (
      (await context.plugins.first('onModelErrorCallback', { callbackContext, llmRequest: request, error })) ??
      firstAnswer(agent.onModelErrorCallback, { context: callbackContext, request, error })
    );
  }
}

/** A response in the place of another is a chunk when that was one: callbacks say what, not which. */
function withPartialOf({ partial }: LlmResponse, replacement: LlmResponse): LlmResponse {
  const { partial: _, ...answer } = replacement;
  return partial === undefined ? answer : { ...answer, partial };
}
