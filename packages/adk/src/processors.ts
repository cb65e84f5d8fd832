import {
  ConfigurationError,
  type Event,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
} from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import type { SingleAfterModelCallback, SingleBeforeModelCallback } from '@eventloom/llm-agent';

/**
 * Base class of processors that change requests to the model in place, in `requestProcessors` of an agent. They run
 * before `beforeModelCallback`, when the request is complete. The runtime makes the request itself, so they are added
 * to it, and replace none of its steps.
 *
 * @example
 * class Translator extends BaseLlmRequestProcessor {
 *   override async *runAsync(_context: InvocationContext, llmRequest: LlmRequest) {
 *     llmRequest.config.systemInstruction = `${llmRequest.config.systemInstruction}\nAnswer in French.`;
 *     yield* [];
 *   }
 * }
 */
export abstract class BaseLlmRequestProcessor {
  /** Changes the request. It may yield no events: an agent yields those of its model only. */
  abstract runAsync(invocationContext: InvocationContext, llmRequest: LlmRequest): AsyncGenerator<Event, void, void>;
}

/**
 * Base class of processors that change responses of the model in place, in `responseProcessors` of an agent. They run
 * before `afterModelCallback`.
 */
export abstract class BaseLlmResponseProcessor {
  /** Changes the response, a chunk or a whole one. It may yield no events. */
  abstract runAsync(invocationContext: InvocationContext, llmResponse: LlmResponse): AsyncGenerator<Event, void, void>;
}

/** A processor of the ADK whose work the runtime always does. It stands in lists so that they can be written as for the ADK. */
class StandardProcessor extends BaseLlmRequestProcessor {
  override async *runAsync(): AsyncGenerator<Event, void, void> {
    yield* [];
  }
}

/** The processor that asks for credentials. The runtime does its work without it. */
export class AuthPreprocessor extends StandardProcessor {}
/** The processor that adds the conversation. The runtime does its work without it. */
export class ContentRequestProcessor extends StandardProcessor {}
/** The processor that offers transfers to other agents. The runtime does its work without it. */
export class AgentTransferLlmRequestProcessor extends StandardProcessor {}
/** The processor for the Interactions API. The runtime keeps conversations itself, so it has nothing to do. */
export class InteractionsRequestProcessor extends StandardProcessor {}

/** The processor that asks for credentials. */
export const AUTH_PREPROCESSOR: AuthPreprocessor = /* @__PURE__ */ new AuthPreprocessor();
/** The processor that adds the conversation. */
export const CONTENT_REQUEST_PROCESSOR: ContentRequestProcessor = /* @__PURE__ */ new ContentRequestProcessor();
/** The processor for the Interactions API. */
export const INTERACTIONS_REQUEST_PROCESSOR: InteractionsRequestProcessor =
  /* @__PURE__ */ new InteractionsRequestProcessor();

/** Returns the callbacks that run the processors of requests. @throws ConfigurationError for a value that is not a processor */
export function requestCallbacks(
  owner: string,
  processors: readonly BaseLlmRequestProcessor[],
): SingleBeforeModelCallback[] {
  checkProcessors(`${owner}: requestProcessors`, processors);
  const own = processors.filter((each) => !(each instanceof StandardProcessor));
  return own.map((processor): SingleBeforeModelCallback => async ({ context, request }) => {
    await finish(owner, processor.runAsync(context.invocationContext, request));
    return undefined;
  });
}

/** Returns the callbacks that run the processors of responses. @throws ConfigurationError for a value that is not a processor */
export function responseCallbacks(
  owner: string,
  processors: readonly BaseLlmResponseProcessor[],
): SingleAfterModelCallback[] {
  checkProcessors(`${owner}: responseProcessors`, processors);
  return processors.map((processor): SingleAfterModelCallback => async ({ context, response }) => {
    await finish(owner, processor.runAsync(context.invocationContext, response));
    return undefined;
  });
}

function checkProcessors(place: string, processors: readonly unknown[]): void {
  if (!Array.isArray(processors))
    throw new ConfigurationError(
      `${place}: expected a list, got ${describeKind(processors)}; write [{ async *runAsync(context, request) { … } }]`,
    );
  for (const [at, each] of processors.entries())
    if (typeof each !== 'object' || each === null || !('runAsync' in each))
      throw new ConfigurationError(
        `${place}[${at}]: expected a processor with runAsync, got ${describeKind(each)}; write { async *runAsync(context, request) { … } }`,
      );
}

async function finish(owner: string, events: AsyncGenerator<Event, void, void>): Promise<void> {
  for await (const _event of events)
    throw new ConfigurationError(
      `${owner}: a processor yielded an event; only agents yield events: write a BaseAgent, or a plugin`,
    );
}
