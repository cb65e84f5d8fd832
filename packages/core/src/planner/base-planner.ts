import type { Part } from '../content/content.ts';
import type { CallbackContext, ReadonlyContext } from '../context/callback-context.ts';
import type { LlmRequest } from '../model/llm-request.ts';

/**
 * Base of planners, which make a model plan before it acts; set as `planner` of an agent. A planner serves any number of runs at
 * the same time. (ADK, `BasePlanner`.)
 */
export abstract class BasePlanner {
  get '~eventloom.planner'(): true {
    return true;
  }

  /** True if the planner sets `thinkingConfig`. An agent whose `generateContentConfig` sets it as well throws ConfigurationError. */
  get setsThinkingConfig(): boolean {
    return false;
  }

  /**
   * Returns the planning instruction, which follows the agent's instructions; undefined for none. Called for every
   * request, when it has its contents and not yet its tools. It may change the request; contents are shared, so replace
   * them and do not modify them.
   */
  abstract buildPlanningInstruction(context: ReadonlyContext, request: LlmRequest): string | undefined;

  /**
   * Returns the changed parts of a reply, calls included; undefined keeps them. Called for every whole reply, after the callbacks,
   * and not for chunks. State changes are stored with the event of the reply.
   */
  abstract processPlanningResponse(context: CallbackContext, parts: readonly Part[]): readonly Part[] | undefined;
}

/** True for planners, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isBasePlanner(value: unknown): value is BasePlanner {
  return typeof value === 'object' && value !== null && '~eventloom.planner' in value;
}
