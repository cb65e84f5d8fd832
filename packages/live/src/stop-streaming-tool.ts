import { BaseTool, type FunctionDeclaration, type RunAsyncToolRequest } from '@eventloom/core';

export const STOP_STREAMING = 'stop_streaming';

const FUNCTION_NAME = 'function_name';

/** The running calls of tools that listen to the client. */
interface StreamingCalls {
  /** Stops the calls of the tool with this name. Returns false when there are none. */
  stopStreaming(toolName: string): boolean;
}

/** Lets the model end its calls of a tool that listens to the client. */
export class StopStreamingTool extends BaseTool {
  readonly #calls: StreamingCalls;

  constructor(calls: StreamingCalls) {
    super({
      name: STOP_STREAMING,
      description: 'Stops a function that is still running and reports its results as they come.',
      idempotent: true,
    });
    this.#calls = calls;
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
    const isStopped = this.#calls.stopStreaming(name);
    return Promise.resolve(isStopped ? { status: `stopped ${name}` } : { error: `${name} is not running` });
  }
}
