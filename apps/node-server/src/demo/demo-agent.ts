import type { BaseLlm, ToolContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { FunctionTool } from '@eventloom/tools';
import * as z from 'zod';
import { calculate } from './arithmetic/calculate.ts';
import { WEATHER } from './weather-table.ts';

/** Creates the agent that is served by default. @param model a model or its name */
export function createDemoAgent(model: BaseLlm | string): LlmAgent {
  return new LlmAgent({
    name: 'demo',
    description: 'Knows the weather, does arithmetic, keeps notes and saves files. Transfers refunds.',
    model,
    instruction:
      'You help with the weather, with arithmetic, with notes and with files. Use your tools for all of it, several at the same time ' +
      'if one does not need the result of another, and never calculate by yourself. Answer in a few plain sentences. Leave refunds of orders to the refund agent.',
    tools: [weatherTool, calculateTool, saveNoteTool, listNotesTool, saveFileTool],
    subAgents: [createRefundsAgent(model)],
  });
}

/** Messages that show what the demo agent can do, even without a key: tools, a transfer with an approval, a saved file. */
export const DEMO_PROMPTS = [
  'What is the weather in Rome, and what is 17% of 340?',
  'I want my money back for order 42.',
  'Write a file list.txt with "bread, milk"',
] as const;

function createRefundsAgent(model: BaseLlm | string): LlmAgent {
  return new LlmAgent({
    name: 'refunds',
    description: 'Refunds orders, after a person has approved it.',
    model,
    instruction:
      'You refund orders with your tool, and say what was refunded. A person approves each refund before it is made.',
    tools: [refundTool],
  });
}

/** Refunds an order. A person has to approve each call. */
const refundTool = new FunctionTool({
  name: 'refund_order',
  description: 'Refunds an order.',
  parameters: z.object({ order: z.string().min(1).max(20) }),
  requireConfirmation: true,
  execute({ order }, context) {
    const refunded: unknown = context.state.get('refunded');
    context.state.set('refunded', [...(Array.isArray(refunded) ? refunded : []), order]);
    return { order, euros: 30 };
  },
});

/** Evaluates an arithmetic expression. */
const calculateTool = new FunctionTool({
  name: 'calculate',
  description:
    'Evaluates an arithmetic expression: + - * / ^, parentheses, "17% of 340", "7 mod 3", sqrt, min, max, pi and the like.',
  parameters: z.object({ expression: z.string() }),
  execute: ({ expression }) => ({ expression, value: calculate(expression) }),
});

/** The state key of the notes, which belong to the user: all sessions of the user share them. */
const NOTES = 'user:notes';

function readNotes({ state }: ToolContext): string[] {
  const notes: unknown = state.get(NOTES);
  return Array.isArray(notes) ? notes.map(String) : [];
}

/** Adds a note to the user's state. */
const saveNoteTool = new FunctionTool({
  name: 'save_note',
  description: 'Saves a note for the user. Later conversations have it too.',
  parameters: z.object({ text: z.string().min(1) }),
  execute({ text }, context) {
    const notes = [...readNotes(context), text];
    context.state.set(NOTES, notes);
    return { saved: text, notes: notes.length };
  },
});

/** Lists the saved notes. */
const listNotesTool = new FunctionTool({
  name: 'list_notes',
  description: 'Lists the notes that were saved for the user.',
  execute: (_args, context) => ({ notes: readNotes(context) }),
});

/** Saves a text file as an artifact. */
const saveFileTool = new FunctionTool({
  name: 'save_file',
  description: 'Saves a text file for the user. Saving under the same name creates a new version.',
  parameters: z.object({ filename: z.string().min(1).describe('e.g. list.txt'), text: z.string() }),
  async execute({ filename, text }, context) {
    const data = Buffer.from(text, 'utf8').toString('base64');
    const version = await context.saveArtifact(filename, { inlineData: { mimeType: 'text/plain', data } });
    return { filename, version };
  },
});

const CITIES = Object.keys(WEATHER);

/** Looks a city up in the weather table. */
export const weatherTool = new FunctionTool({
  name: 'get_weather',
  description: 'Returns the weather in a city.',
  parameters: z.object({ city: z.string().describe('Its English name, e.g. Rome') }),
  execute({ city }) {
    const wanted = city.trim().toLowerCase();
    const name = CITIES.find((known) => known.toLowerCase() === wanted);
    const weather = name === undefined ? undefined : WEATHER[name];
    if (!weather)
      return {
        error: `there is no weather for ${city} in the table of ${CITIES.length} cities, such as ${CITIES.slice(0, 6).join(', ')}`,
      };
    return { city: name, ...weather };
  },
});
