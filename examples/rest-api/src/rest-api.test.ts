import { expect, test } from 'vitest';
import { story } from './story.ts';

test('the agent reads the stock, and orders what is missing once a person agreed', async () => {
  const lines: string[] = [];
  await story.tell({ apiKey: '', print: (line) => lines.push(line) });
  const transcript = lines.join('\n');
  expect(transcript).toContain('clerk → get_item {"item":"lamp"}');
  expect(transcript).toContain('"body":{"item":"chair","count":0}');
  expect(lines.indexOf('you Yes.')).toBeGreaterThan(
    lines.findIndex((line) => line.includes('adk_request_confirmation')),
  );
  expect(transcript).toContain('clerk There are 4 lamps.');
  expect(lines.at(-1)).toBe('ordered: [{"item":"chair","count":6}]');
});
