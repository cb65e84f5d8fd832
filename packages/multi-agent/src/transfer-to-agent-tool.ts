import { type BaseAgent, BaseTool, type FunctionDeclaration, type RunAsyncToolRequest } from '@eventloom/core';
import { TRANSFER_TO_AGENT } from '@eventloom/core/internal';

const AGENT_NAME = 'agent_name';
/** The name of the argument in ADK for JavaScript, which models of ADK programs may send. */
const ADK_AGENT_NAME = 'agentName';

/** The response of the tool, which is that of ADK for JavaScript. */
const TRANSFER_RESPONSE = 'Transfer queued';

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
    const asked = args[AGENT_NAME] ?? args[ADK_AGENT_NAME];
    const name = this.#names.find((each) => each === asked);
    if (name === undefined) {
      const error = `cannot transfer to ${JSON.stringify(asked) ?? 'nobody'}; ${AGENT_NAME} is one of: ${this.#names.join(', ')}`;
      return Promise.resolve({ error });
    }
    toolContext.actions.transferToAgent = name;
    return Promise.resolve(TRANSFER_RESPONSE);
  }
}
