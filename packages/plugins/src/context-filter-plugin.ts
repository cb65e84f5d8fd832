import { BasePlugin, type Content, type LlmRequest, type MaybePromise } from '@eventloom/core';
import { checkOptions, integer, type OptionRules } from '@eventloom/core/internal';

/** Options of `ContextFilterPlugin`. */
export interface ContextFilterPluginOptions {
  /**
   * Number of newest invocations that the model sees. An invocation begins with a message of the user and contains all replies and tool
   * calls up to the next message of the user. Default: all.
   */
  readonly numInvocationsToKeep?: number | undefined;
  /** Returns the contents to send; called with the contents without the older invocations. Default: they are sent unchanged. */
  readonly customFilter?: ((contents: Content[]) => MaybePromise<Content[]>) | undefined;
  /**
   * Number of excess invocations at which the older ones are left out. With a larger number the beginning of requests, which model services
   * cache, stays the same for longer. Default 1.
   */
  readonly removeAmount?: number | undefined;
  /** Name of the plugin. Default `context_filter_plugin`. */
  readonly name?: string | undefined;
}

const OPTIONS: OptionRules<ContextFilterPluginOptions> = {
  numInvocationsToKeep: integer(1),
  customFilter: { is: 'function', wanted: 'a function from contents to contents', write: '(contents) => contents' },
  removeAmount: integer(1),
  name: 'text',
};

/**
 * Leaves parts of the conversation out of model requests. The session keeps all events.
 *
 * A function response is never sent without its call. An error of `customFilter` fails the run, because the filter may protect data from
 * the model.
 *
 * @example
 * const plugins = [new ContextFilterPlugin({ numInvocationsToKeep: 5 })];
 */
export class ContextFilterPlugin extends BasePlugin {
  readonly #keep: number | undefined;
  readonly #removeAmount: number;
  readonly #filter: ContextFilterPluginOptions['customFilter'];

  /** @throws ConfigurationError for a number that is not a positive integer, a filter that is not a function, and an unknown option */
  constructor(options: ContextFilterPluginOptions = {}) {
    checkOptions('ContextFilterPlugin', OPTIONS, options);
    const { numInvocationsToKeep, removeAmount = 1, customFilter, name = 'context_filter_plugin' } = options;
    super(name);
    this.#keep = numInvocationsToKeep;
    this.#removeAmount = removeAmount;
    this.#filter = customFilter;
  }

  override async beforeModelCallback({ llmRequest }: { llmRequest: LlmRequest }): Promise<undefined> {
    const { contents } = llmRequest;
    const kept = this.#keep === undefined ? contents : newest(contents, this.#keep, this.#removeAmount);
    llmRequest.contents = this.#filter ? await this.#filter(kept) : kept;
  }
}

function newest(contents: Content[], keep: number, removeAmount: number): Content[] {
  const starts = contents.flatMap((content, index) => (startsInvocation(contents, index) ? [index] : []));
  const excess = starts.length - keep;
  if (excess < removeAmount) return contents;
  // Contents are removed in multiples of `removeAmount`, so that the prefix stays the same in between.
  const start = starts[excess - (excess % removeAmount)] ?? 0;
  return contents.slice(withCalls(contents, start));
}

/** True for the first of several consecutive user messages. Function responses are not user messages. */
function startsInvocation(contents: readonly Content[], index: number): boolean {
  return isMessage(contents[index]) && !isMessage(contents[index - 1]);
}

function isMessage(content: Content | undefined): boolean {
  return content?.role === 'user' && content.parts?.some((part) => part.functionResponse) !== true;
}

/** Returns the last index up to `start` from which every function response has its call. Contents of a request are those of one branch. */
function withCalls(contents: readonly Content[], start: number): number {
  /** Responses whose calls have not been seen yet, counted by the ids of the calls. */
  const open = new Set<string>();
  for (let index = contents.length - 1; index >= 0; index--) {
    for (const { functionCall, functionResponse } of contents[index]?.parts?.toReversed() ?? []) {
      if (functionResponse) open.add(functionResponse.id ?? functionResponse.name ?? '');
      if (functionCall) open.delete(functionCall.id ?? functionCall.name ?? '');
    }
    if (index <= start && open.size === 0) return index;
  }
  return 0;
}
