import {
  BaseTool,
  ConfigurationError,
  type FunctionDeclaration,
  type RunAsyncToolRequest,
  type ToolContext,
} from '@eventloom/core';
import type { InferSchema, SchemaLike } from './schema/standard-schema.ts';
import { ValueSchema } from './schema/value-schema.ts';

/** What a tool's `parameters` may be. */
export type ToolInputParameters = SchemaLike | undefined;

/** What a tool's function is called with: what its schema lets through, or an empty object without a schema. */
export type ToolExecuteArgument<P extends ToolInputParameters> = P extends SchemaLike
  ? InferSchema<P>
  : Record<string, unknown>;

/** The function behind a tool. Sync or async; work that keeps the processor busy blocks everything else meanwhile. */
export type ToolExecuteFunction<P extends ToolInputParameters> = (
  args: ToolExecuteArgument<P>,
  toolContext: ToolContext,
) => unknown;

/** What a function tool is made of. */
export interface ToolOptions<P extends ToolInputParameters = undefined> {
  /** Default: the function's own name. */
  readonly name?: string;
  /** When and how to use it: the model reads this. */
  readonly description: string;
  /** The arguments, an object: zod 4, any Standard Schema with a JSON schema, or JSON Schema. */
  readonly parameters?: P;
  readonly execute: ToolExecuteFunction<P>;
  readonly isLongRunning?: boolean;
}

const BRAND = Symbol.for('eventloom.function-tool');
const OPTIONS = new Set(['name', 'description', 'parameters', 'execute', 'isLongRunning', 'requireConfirmation']);

/**
 * A function that a model can call. Arguments are checked against the schema before the function runs; what is wrong with them is
 * told to the model, which can then call again.
 */
export class FunctionTool<P extends ToolInputParameters = undefined> extends BaseTool {
  readonly #execute: ToolExecuteFunction<P>;
  readonly #parameters: ValueSchema | undefined;
  #declaration: FunctionDeclaration | undefined;

  /** @throws ConfigurationError for a missing name or function, a schema of no known kind, or an option this version does not have */
  constructor(options: ToolOptions<P>) {
    const name = options.name ?? options.execute?.name;
    super({ name, description: options.description, isLongRunning: options.isLongRunning ?? false });
    const owner = `tool "${name}"`;
    if (typeof options.execute !== 'function') throw new ConfigurationError(`${owner}: execute must be a function`);
    if ('requireConfirmation' in options && options.requireConfirmation) {
      throw new ConfigurationError(`${owner}: requireConfirmation is not supported by this version yet`);
    }
    for (const key in options) {
      if (!OPTIONS.has(key))
        throw new ConfigurationError(`${owner}: has no option "${key}"; it has ${[...OPTIONS].join(', ')}`);
    }
    this.#execute = options.execute;
    this.#parameters = options.parameters === undefined ? undefined : new ValueSchema(options.parameters, owner);
  }

  get [BRAND](): true {
    return true;
  }

  override _getDeclaration(): FunctionDeclaration {
    return (this.#declaration ??= {
      name: this.name,
      description: this.description,
      ...(this.#parameters ? { parametersJsonSchema: this.#parameters.json } : {}),
    });
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    if (!this.#parameters) return this.#execute(args as ToolExecuteArgument<P>, toolContext);
    const pending = this.#parameters.check(args);
    const checked = pending instanceof Promise ? await pending : pending;
    if ('issues' in checked) {
      return { error: `the arguments of ${this.name} are not valid: ${checked.issues.join('; ')}` };
    }
    return this.#execute(checked.value as ToolExecuteArgument<P>, toolContext);
  }
}

/** True for function tools, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isFunctionTool(value: unknown): value is FunctionTool<ToolInputParameters> {
  return typeof value === 'object' && value !== null && BRAND in value;
}
