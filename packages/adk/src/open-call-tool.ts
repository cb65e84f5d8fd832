import { BaseTool } from '@eventloom/core';

/**
 * A tool that runs other work of the program, and whose calls stay open while that work waits for a person. The
 * response of a call is its result; that of another long-running tool may be a status, after which a person answers.
 */
export abstract class OpenCallTool extends BaseTool {
  constructor({ name, description }: { readonly name: string; readonly description: string }) {
    super({ name, description, isLongRunning: true });
  }
}
