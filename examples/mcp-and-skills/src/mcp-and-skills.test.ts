import { expect, test } from 'vitest';
import { story } from './story.ts';

test('the clerk loads the skill, runs its script, and pays after the server has asked the customer', async () => {
  const lines: string[] = [];
  await story.tell({ apiKey: '', print: (line) => lines.push(line) });
  const transcript = lines.join('\n');
  expect(transcript).toContain('clerk ← run_skill_script {"stdout":"40');
  expect(transcript).toContain('To which account do 40 euros go?');
  expect(transcript).toContain('clerk ← shop_pay_back {"result":"40 euros go to DE17"}');
  expect(lines.slice(-2)).toEqual(['clerk You get 40 euros back.', 'paid back: [40]']);
});
