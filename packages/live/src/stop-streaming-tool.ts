import { BaseTool, type FunctionDeclaration, type RunAsyncToolRequest } from '@eventloom/core';

export const STOP_STREAMING = 'stop_streaming';

const FUNCTION_NAME = 'function_name';

/** Lets the model end its calls of a tool that listens to the client. */
export class StopStreamingTool extends BaseTool {
  readonly #stop: (toolName: string) => boolean;

  /** @param stop stops the calls of the tool with this name; returns false when there are none */
  constructor(stop: (toolName: string) => boolean) {
    super({
      name: STOP_STREAMING,
      description: 'Stops a function that is still running and reports its results as they come.',
      idempotent: true,
    });
    this.#stop = stop;
  }

  override _getDeclaration(): FunctionDeclaration {
    const properties = { [FUNCTION_NAME]: { type: 'string', description: 'The name of the function to stop.' } };
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: { type: 'object', properties, required: [FUNCTION_NAME] },
    };
  }

  override runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const name = String(args[FUNCTION_NAME]);
    const isStopped = this.#stop(name);
    return Promise.resolve(isStopped ? { status: `stopped ${name}` } : { error: `${name} is not running` });
  }
}
