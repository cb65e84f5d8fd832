import type { Part } from '../content/content.ts';
import type { CallbackContext } from '../context/callback-context.ts';
import type { ReadonlyContext } from '../context/readonly-context.ts';
import type { LlmRequest } from '../model/llm-request.ts';

/**
 * Has a model plan before it acts, for an agent that has it as `planner`. A planner serves any number of runs at once. (ADK,
 * `BasePlanner`.)
 */
export abstract class BasePlanner {
  get '~eventloom.planner'(): true {
    return true;
  }

  /** True when the planner says how the model thinks: the agent's `generateContentConfig` then has no `thinkingConfig`. */
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
   * The parts of a reply as they go on, calls among them; undefined to leave them. Called for every whole reply, after the
   * callbacks, and not for chunks: these are shown as the model sends them. State that is written goes into the event of the reply.
   */
  abstract processPlanningResponse(context: CallbackContext, parts: readonly Part[]): readonly Part[] | undefined;
}

/** True for planners, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBasePlanner(value: unknown): value is BasePlanner {
  return typeof value === 'object' && value !== null && '~eventloom.planner' in value;
}
