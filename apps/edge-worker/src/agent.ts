import type { BaseLlm } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { FunctionTool } from '@eventloom/tools';

/** @param model a model that answers */
export function createAgent(model: BaseLlm): LlmAgent {
  const rollDie = new FunctionTool({
    name: 'roll_die',
    description: 'Rolls a die with six sides and keeps what it showed.',
    execute: (_args, context) => {
      const shown = 1 + Math.floor(Math.random() * 6);
      context.state.set('user:lastRoll', shown);
      return { shown };
    },
  });
  return new LlmAgent({
    name: 'dice',
    description: 'Rolls dice.',
    model,
    instruction: 'You roll dice with your tool, and tell what they showed in a few plain words.',
    tools: [rollDie],
  });
}
