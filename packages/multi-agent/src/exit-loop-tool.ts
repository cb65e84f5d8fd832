import { BaseTool, type FunctionDeclaration, type RunAsyncToolRequest } from '@eventloom/core';

class ExitLoopTool extends BaseTool {
  constructor() {
    super({
      name: 'exit_loop',
      description: 'Ends the loop. Call it only when your instructions say that the loop is done.',
      idempotent: true,
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description };
  }

  override runAsync({ toolContext: { actions } }: RunAsyncToolRequest): Promise<unknown> {
    actions.escalate = true;
    actions.skipSummarization = true;
    return Promise.resolve({ status: 'the loop ends' });
  }
}

/** By this tool an agent inside a LoopAgent ends the loop. The model is not asked again afterwards. Also exported as `EXIT_LOOP`, its ADK name. */
export const exitLoop: BaseTool = /* @__PURE__ */ new ExitLoopTool();
