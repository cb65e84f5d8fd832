import { fileURLToPath } from 'node:url';
import { type BaseAgent, FunctionTool, LlmAgent, loadAgentFromConfig } from 'eventloom/adk';

const multiply = new FunctionTool({
  name: 'multiply',
  description: 'Multiplies two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => Number(a) * Number(b),
});

/** Creates the agents of `agents/root_agent.yaml`. The function is called before each call of the first agent's model. */
export function createTutors(countCall: () => undefined): BaseAgent {
  const codeTutor = new LlmAgent({
    name: 'code_tutor',
    description: 'Answers questions about code.',
    instruction: 'Show short programs.',
  });
  return loadAgentFromConfig(fileURLToPath(new URL('../agents/root_agent.yaml', import.meta.url)), {
    tools: { 'tools.multiply': multiply },
    callbacks: { 'callbacks.count_calls': countCall },
    agents: { 'tutors.code_tutor': codeTutor },
  });
}
