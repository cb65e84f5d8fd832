import { type BaseAgent, BaseTool, type FunctionDeclaration, type RunAsyncToolRequest } from '@eventloom/core';
import { TRANSFER_TO_AGENT } from '@eventloom/core/internal';

const AGENT_NAME = 'agent_name';

/** The tool `transfer_to_agent`, with which a model transfers the conversation to another agent. */
export class TransferToAgentTool extends BaseTool {
  readonly #names: readonly string[];
  readonly #declaration: FunctionDeclaration;

  /** @param targets agents that the model may transfer to; a call with another name returns an error */
  constructor(targets: readonly BaseAgent[]) {
    super({
      name: TRANSFER_TO_AGENT,
      description: 'Transfers the conversation to another agent, which continues it.',
      idempotent: true,
    });
    this.#names = targets.map((target) => target.name);
    const agentName = { type: 'string', enum: this.#names, description: 'The name of the agent to transfer to.' };
    this.#declaration = {
      name: this.name,
      description: this.description,
      parametersJsonSchema: { type: 'object', properties: { [AGENT_NAME]: agentName }, required: [AGENT_NAME] },
    };
  }

  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  override runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const name = this.#names.find((each) => each === args[AGENT_NAME]);
    if (name === undefined) {
      const asked = JSON.stringify(args[AGENT_NAME]) ?? 'nobody';
      const error = `cannot transfer to ${asked}; ${AGENT_NAME} is one of: ${this.#names.join(', ')}`;
      return Promise.resolve({ error });
    }
    toolContext.actions.transferToAgent = name;
    // The ADK answers nothing, which its responses show as null.
    return Promise.resolve(null);
  }
}
