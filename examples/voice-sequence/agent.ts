import { FunctionTool, LlmAgent, SequentialAgent } from 'eventloom';
import * as z from 'zod';

const model = 'gemini-3.1-flash-live-preview';

const noteFault = new FunctionTool({
  name: 'note_fault',
  description: 'Notes what is broken, and where.',
  parameters: z.object({ fault: z.string(), address: z.string() }),
  execute: ({ fault, address }, { state }) => {
    state.set('fault', `${fault}, ${address}`);
    return { status: 'noted' };
  },
});

const intake = new LlmAgent({
  name: 'intake',
  model,
  instruction:
    'You answer the telephone of a plumber. Ask what is broken and where, and note both. Then your task is completed.',
  tools: [noteFault],
});

const planner = new LlmAgent({
  name: 'planner',
  model,
  instruction: ({ state }) =>
    `The fault is: ${String(state.get('fault'))}. Offer a visit tomorrow at nine. When the time is agreed, your task is completed.`,
});

export const rootAgent = new SequentialAgent({ name: 'plumber', subAgents: [intake, planner] });
