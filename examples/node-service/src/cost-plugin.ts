import { BasePlugin, type CallbackContext, type InvocationContext, type LlmResponse } from 'eventloom';

interface AfterModel {
  readonly callbackContext: CallbackContext;
  readonly llmResponse: LlmResponse;
}

interface RunOf {
  readonly invocationContext: InvocationContext;
}

/** Counts the tokens of each run over all its agents, and reports them when the run has ended. */
export class CostPlugin extends BasePlugin {
  readonly #tokens = new Map<string, number>();
  readonly #log: (line: string) => void;

  constructor(log: (line: string) => void) {
    super('cost');
    this.#log = log;
  }

  override afterModelCallback({ callbackContext, llmResponse }: AfterModel): undefined {
    // Chunks of a streamed reply have token counts too; those of the whole reply include them.
    if (llmResponse.partial) return undefined;
    const { invocationId } = callbackContext;
    const tokens = llmResponse.usageMetadata?.totalTokenCount ?? 0;
    this.#tokens.set(invocationId, (this.#tokens.get(invocationId) ?? 0) + tokens);
  }

  override afterRunCallback({ invocationContext }: RunOf): void {
    this.#report(invocationContext, '');
  }

  override onRunErrorCallback({ invocationContext, error }: RunOf & { error: Error }): void {
    this.#report(invocationContext, `, failed: ${error.message}`);
  }

  #report({ invocationId, userId }: InvocationContext, outcome: string): void {
    this.#log(`${userId}: ${this.#tokens.get(invocationId) ?? 0} tokens${outcome}`);
    this.#tokens.delete(invocationId);
  }
}
