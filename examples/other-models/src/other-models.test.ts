import { expect, test } from 'vitest';
import { story } from './story.ts';

test("a model behind a server of OpenAI's protocol calls a tool and answers, and another model answers when the server fails", async () => {
  const lines: string[] = [];
  await story.tell({ print: (line) => lines.push(line) });
  expect(lines).toEqual([
    'you What time is it in Lisbon?',
    'guide → get_time {"city":"Lisbon"}',
    'guide It is a quarter to eleven in Lisbon.',
    'you And how far is Porto?',
    'guide About three hours by train. {"model":"llama3.2","failed":[{"model":"qwen3","errorCode":"UNAVAILABLE"}]}',
  ]);
});
