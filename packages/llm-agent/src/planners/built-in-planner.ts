import { BasePlanner, ConfigurationError, type LlmRequest, type ReadonlyContext } from '@eventloom/core';

/** Leaves planning to the model: switches its own thinking on. A model that cannot think refuses the request. */
export class BuiltInPlanner extends BasePlanner {
  /** As the model's service takes it: `{ includeThoughts, thinkingBudget, … }`. */
  readonly thinkingConfig: object;

  /** @throws ConfigurationError without a thinking config */
  constructor({ thinkingConfig }: { readonly thinkingConfig: object }) {
    super();
    if (typeof thinkingConfig !== 'object' || thinkingConfig === null)
      throw new ConfigurationError('BuiltInPlanner: thinkingConfig must be an object');
    this.thinkingConfig = thinkingConfig;
  }

  override get setsThinkingConfig(): boolean {
    return true;
  }

  override buildPlanningInstruction(_context: ReadonlyContext, request: LlmRequest): undefined {
    request.config.thinkingConfig = { ...this.thinkingConfig };
  }

  /** A model that thinks marks its thoughts itself. */
  override processPlanningResponse(): undefined {
    return undefined;
  }
}
