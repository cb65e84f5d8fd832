import { LlmAgent, LOAD_MEMORY } from 'eventloom';

export const rootAgent = new LlmAgent({
  name: 'concierge',
  model: 'gemini-flash-latest',
  instruction: 'You find restaurants. Look up what the user told you in earlier conversations before you suggest one.',
  tools: [LOAD_MEMORY],
  afterAgentCallback: (context) => context.addSessionToMemory(),
});
