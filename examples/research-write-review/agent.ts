import { FunctionTool, LlmAgent, SequentialAgent } from 'eventloom';
import * as z from 'zod';

const model = 'gemini-flash-latest';

const SOURCES: Readonly<Record<string, string>> = {
  tides:
    'The moon pulls at the near side of the earth more than at the far side. Most coasts have two high tides a day.',
  moon: 'The moon is 384,400 km away on average and turns once in 27.3 days.',
};

const readSource = new FunctionTool({
  name: 'read_source',
  description: `Reads a source: ${Object.keys(SOURCES).join(' or ')}.`,
  parameters: z.object({ topic: z.string() }),
  execute: ({ topic }) => SOURCES[topic.toLowerCase()] ?? { error: `there is no source on ${topic}` },
});

const researcher = new LlmAgent({
  name: 'researcher',
  model,
  instruction:
    'Read the sources on what the user asks for and list the facts in them that matter. Add none of your own.',
  tools: [readSource],
  outputKey: 'facts',
});

const writer = new LlmAgent({
  name: 'writer',
  model,
  instruction: 'Write one paragraph for a school child. Use these facts only:\n{facts}',
  outputKey: 'draft',
});

const reviewer = new LlmAgent({
  name: 'reviewer',
  model,
  instruction:
    'Compare the draft with the facts, correct what they do not bear out, and reply with the final text and nothing else.\n' +
    'Facts:\n{facts}\n\nDraft:\n{draft}',
  outputKey: 'text',
});

export const rootAgent = new SequentialAgent({ name: 'pipeline', subAgents: [researcher, writer, reviewer] });
