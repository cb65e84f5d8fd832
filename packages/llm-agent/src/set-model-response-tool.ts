import { BaseTool, type FunctionDeclaration, type RunAsyncToolRequest, SET_MODEL_RESPONSE } from '@eventloom/core';
import type { ValueSchema } from '@eventloom/tools';

/** A wrapper around a schema that is no object: arguments always are one. */
const VALUE = 'value';

/**
 * By this tool a model hands in an answer that follows the output schema, when it cannot answer so and call tools as well. Made anew
 * for every request: it keeps the answer.
 */
export class SetModelResponseTool extends BaseTool {
  readonly #schema: ValueSchema;
  #accepted: { readonly value: unknown } | undefined;
  #issues: readonly string[] | undefined;

  constructor(schema: ValueSchema) {
    super({
      name: SET_MODEL_RESPONSE,
      description: 'Hands in the final answer in the required shape.',
      idempotent: true,
    });
    this.#schema = schema;
  }

  override _getDeclaration(): FunctionDeclaration {
    const { json } = this.#schema;
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: this.#isWrapped() ? wrapped(json) : json,
    };
  }

  #isWrapped(): boolean {
    return this.#schema.json['type'] !== 'object';
  }

  /** The answer that was handed in and matched the schema. */
  get accepted(): { readonly value: unknown } | undefined {
    return this.#accepted;
  }

  /** What was wrong with an answer that was handed in and did not match. */
  get issues(): readonly string[] | undefined {
    return this.#issues;
  }

  /** The answer that these arguments hand in; undefined for one that does not match the schema. */
  async check(args: Record<string, unknown>): Promise<{ readonly value: unknown } | undefined> {
    const checked = await this.#check(args);
    return 'value' in checked ? checked : undefined;
  }

  #check(args: Record<string, unknown>): ReturnType<ValueSchema['check']> {
    return this.#schema.check(this.#isWrapped() ? args[VALUE] : args);
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const checked = await this.#check(args);
    if ('issues' in checked) {
      this.#issues = checked.issues;
      return { error: `the answer does not match the schema: ${checked.issues.join('; ')}` };
    }
    this.#accepted = checked;
    return { status: 'accepted' };
  }
}

/** An object with the value in it. Definitions move to its root, where references look for them. */
function wrapped({ $defs, definitions, ...json }: Record<string, unknown>): Record<string, unknown> {
  return {
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
    type: 'object',
    properties: { [VALUE]: json },
    required: [VALUE],
  };
}
