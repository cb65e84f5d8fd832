import type { BaseLlm } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { FunctionTool } from '@eventloom/tools';

/** Messages that show what the agents can do, even without a key: a tool, a transfer with an approval, a saved file. */
export const PROMPTS = ['Roll the die.', 'Pay out what I won.', 'Save my rolls as a file.'] as const;

/** The state key of the die's past numbers, newest last. */
const ROLLS = 'rolls';

const rollDie = new FunctionTool({
  name: 'roll_die',
  description: 'Rolls a die with six sides and stores the number.',
  execute: (_args, context) => {
    const shown = 1 + Math.floor(Math.random() * 6);
    context.state.set(ROLLS, [...rollsIn(context.state.get(ROLLS)), shown]);
    context.state.set('user:lastRoll', shown);
    return { shown };
  },
});

const saveRolls = new FunctionTool({
  name: 'save_rolls',
  description: 'Saves all rolls of this conversation as a text file. Saving again makes a new version.',
  execute: async (_args, context) => {
    const lines = rollsIn(context.state.get(ROLLS)).map((shown, index) => `${index + 1}. ${shown}`);
    const data = btoa(`${lines.join('\n')}\n`);
    const version = await context.saveArtifact('rolls.txt', { inlineData: { mimeType: 'text/plain', data } });
    return { filename: 'rolls.txt', version };
  },
});

/** Pays out the points. A person has to approve each call. */
const payOut = new FunctionTool({
  name: 'pay_out',
  description: 'Pays out one euro for each point that was rolled, and starts again from zero.',
  requireConfirmation: true,
  execute: (_args, context) => {
    const euros = rollsIn(context.state.get(ROLLS)).reduce((sum, shown) => sum + shown, 0);
    context.state.set(ROLLS, []);
    return { euros };
  },
});

function rollsIn(value: unknown): number[] {
  return Array.isArray(value) ? value.map(Number) : [];
}

/** @param model a model that can call tools */
export function createAgent(model: BaseLlm): LlmAgent {
  return new LlmAgent({
    name: 'dice',
    description: 'Rolls dice.',
    model,
    instruction:
      'You roll dice with your tool, and report the result in a few plain words. Leave payments to the payment agent.',
    tools: [rollDie, saveRolls],
    subAgents: [
      new LlmAgent({
        name: 'cashier',
        description: 'Pays out the winnings, after a person has approved it.',
        model,
        instruction: 'You pay out the winnings with your tool, and say how much was paid.',
        tools: [payOut],
      }),
    ],
  });
}
