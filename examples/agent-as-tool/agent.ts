import { AgentTool, FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const model = 'gemini-flash-latest';

const HEIGHTS: Readonly<Record<string, number>> = { 'Eiffel Tower': 330, 'Cologne Cathedral': 157 };

const lookUpHeight = new FunctionTool({
  name: 'look_up_height',
  description: 'Looks up the height of a building in metres.',
  parameters: z.object({ building: z.string() }),
  execute: ({ building }, toolContext) => {
    const metres = HEIGHTS[building];
    if (metres === undefined) return { error: `the height of ${building} is not known` };
    toolContext.state.set('lastChecked', building);
    return { metres };
  },
});

const factChecker = new LlmAgent({
  name: 'fact_checker',
  description: 'Checks one claim about a building and says whether it is true.',
  model,
  instruction: 'Look up what is claimed. Begin your answer with TRUE or FALSE.',
  tools: [lookUpHeight],
});

export const rootAgent = new LlmAgent({
  name: 'editor',
  model,
  instruction: "Have each claim in the user's text checked, all at the same time, and reply with the corrected text.",
  tools: [new AgentTool({ agent: factChecker, streamInner: true })],
});
