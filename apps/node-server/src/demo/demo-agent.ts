import type { BaseLlm } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { calculateTool } from './tools/calculate-tool.ts';
import { listNotesTool, saveNoteTool } from './tools/note-tools.ts';
import { saveFileTool } from './tools/save-file-tool.ts';
import { weatherTool } from './tools/weather-tool.ts';

/** The agent that is served when nobody names others. @param model a model, or the name of one */
export function createDemoAgent(model: BaseLlm | string): LlmAgent {
  return new LlmAgent({
    name: 'demo',
    description: 'Knows the weather, does arithmetic, keeps notes and saves files.',
    model,
    instruction:
      'You help with the weather, with arithmetic, with notes and with files. Use your tools for all of it, several at the same time ' +
      'where one does not need the answer of another, and never work something out by yourself. Answer in a few plain sentences.',
    tools: [weatherTool, calculateTool, saveNoteTool, listNotesTool, saveFileTool],
  });
}
