import { BaseTool, type FunctionDeclaration, TASK_COMPLETED } from '@eventloom/core';

class TaskCompletedTool extends BaseTool {
  constructor() {
    super({
      name: TASK_COMPLETED,
      description: 'Says that your task is done. The next agent goes on with the conversation.',
      idempotent: true,
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description };
  }

  override runAsync(): Promise<unknown> {
    return Promise.resolve('Task completion signaled.');
  }
}

/** By this tool an agent of a SequentialAgent ends its part of a live run, which has no end of its own. */
export const taskCompleted: BaseTool = /* @__PURE__ */ new TaskCompletedTool();

/** What an agent that has the tool is told. */
export const TASK_COMPLETED_INSTRUCTION = `When your part of the task is done, call ${TASK_COMPLETED}, and say nothing beside the call: the next agent takes over.`;
