import { BaseTool, type FunctionDeclaration, type RunAsyncToolRequest } from '@eventloom/core';
import { FINISH_TASK, getOwn } from '@eventloom/core/internal';
import { type SchemaLike, ValueSchema } from '@eventloom/tools';

/** The name of the tool with which an agent in the mode `task` hands in its result. */
export const FINISH_TASK_TOOL_NAME: string = FINISH_TASK;
/** The response of that tool to a valid result. */
export const FINISH_TASK_SUCCESS_RESULT = 'Task completed.';

/**
 * The tool with which a model hands in the result of a task. An agent with `mode: 'task'` has it already; this class is
 * for programs that read its calls, or that test with it.
 *
 * @example
 * const resultOf = (args: Record<string, unknown>): unknown => new FinishTaskTool({ type: 'string' }).extractOutput(args);
 */
export class FinishTaskTool extends BaseTool {
  /** The argument that holds the result, if the schema is not one of an object; otherwise undefined: the arguments are the result. */
  readonly wrapperKey: string | undefined;
  readonly #schema: ValueSchema;

  /**
   * @param outputSchema Schema of the result. Default: an object with a text `result`.
   * @throws ConfigurationError for a value that is not a schema
   */
  constructor(outputSchema?: SchemaLike) {
    super({
      name: FINISH_TASK,
      description: 'Signals that the agent has completed its task, and hands in the result.',
      idempotent: true,
    });
    this.#schema = new ValueSchema(outputSchema ?? DEFAULT_RESULT, 'FinishTaskTool: outputSchema');
    this.wrapperKey = this.#schema.json['type'] === 'object' ? undefined : 'result';
  }

  override _getDeclaration(): FunctionDeclaration {
    const { json } = this.#schema;
    const { wrapperKey: key } = this;
    const parametersJsonSchema =
      key === undefined ? json : { type: 'object', properties: { [key]: json }, required: [key] };
    return { name: this.name, description: this.description, parametersJsonSchema };
  }

  /** Returns the result in the arguments of a call. */
  extractOutput(args: Record<string, unknown>): unknown {
    return this.wrapperKey === undefined ? args : getOwn(args, this.wrapperKey);
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const checked = await this.#schema.check(this.extractOutput(args));
    return 'issues' in checked
      ? { error: `the result does not match the schema: ${checked.issues.join('; ')}` }
      : FINISH_TASK_SUCCESS_RESULT;
  }
}

const DEFAULT_RESULT = {
  type: 'object',
  properties: { result: { type: 'string', description: 'A brief summary of what the agent accomplished.' } },
  required: ['result'],
};
