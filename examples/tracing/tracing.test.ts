import { expect, test } from 'vitest';
import { playOffline } from '../stage/play-offline.ts';
import { story } from './story.ts';

test('the spans of the agents, models and tools are printed as a tree, with tokens and costs', async () => {
  const lines: string[] = [];
  await playOffline(story, { print: (line) => void lines.push(line) });
  expect(lines.slice(lines.indexOf('spans') + 1)).toEqual([
    '  invoke_workflow travel',
    '    invoke_agent travel',
    '      chat gemini-offline  input_tokens 420, output_tokens 18, cost 0.000171',
    '      execute_tool weather',
    '        invoke_agent weather',
    '          chat gemini-offline  input_tokens 90, output_tokens 8, cost 0.000047',
    '      chat gemini-offline  input_tokens 510, output_tokens 22, cost 0.000208',
    '      execute_tool find_flights',
    '      chat gemini-offline  input_tokens 600, output_tokens 31, cost 0.0002575',
  ]);
});
