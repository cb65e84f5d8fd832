import { exitLoop, LlmAgent, LoopAgent } from 'eventloom';

const model = 'gemini-flash-latest';

const writer = new LlmAgent({
  name: 'writer',
  model,
  instruction:
    'Write the slogan that the user asks for, and nothing else. Where there is a critique, write a better one.\n' +
    'Your last slogan: {slogan?}\nThe critique of it: {critique?}',
  outputKey: 'slogan',
});

const critic = new LlmAgent({
  name: 'critic',
  model,
  instruction:
    'Judge the slogan: {slogan}\n' +
    'When it has six words at most and names the product, call exit_loop. Otherwise say in one line what to change.',
  tools: [exitLoop],
  outputKey: 'critique',
});

export const rootAgent = new LoopAgent({ name: 'workshop', subAgents: [writer, critic], maxIterations: 3 });
