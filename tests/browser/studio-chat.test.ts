import type { StoredSpan } from '@eventloom/dev';
import { LlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { Gate, modelEvent, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { KEY, type OpenOptions, send, useStudio } from './studio-page.ts';
import { look } from './studio-tools.ts';

const { open } = useStudio();

/** Stores a conversation that is higher than the view, with messages of one to six lines. */
const fill: OpenOptions['fill'] = async (service) => {
  const session = await service.createSession(KEY);
  for (let index = 0; index < 30; index++) {
    const lines = Array.from({ length: 1 + (index % 6) }, (_, line) => `line ${line} of note ${index}`);
    await service.appendEvent({ session, event: modelEvent('helper', lines.join('\n\n')) });
  }
};

/** Returns the height of the conversation below its view, in pixels, once it has been the same for 20 frames. */
function heightBelow(page: Page): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const box = document.querySelector('.messages');
    let below = -1;
    for (let quiet = 0; quiet < 20; quiet++) {
      await new Promise(requestAnimationFrame);
      const now = Math.round(box.scrollHeight - box.scrollTop - box.clientHeight);
      if (now !== below) quiet = 0;
      below = now;
    }
    return below;
  })()`);
}

test('a conversation that is opened or loaded again shows its end', async () => {
  const { page, errors } = await open([], { fill });
  const newest = page.getByRole('log').getByText('line 0 of note 29');
  await newest.waitFor();
  await page.getByRole('slider').waitFor();
  expect(await heightBelow(page)).toBeLessThan(3);
  await page.reload();
  await newest.waitFor();
  await page.getByRole('slider').waitFor();
  expect(await heightBelow(page)).toBeLessThan(3);
  await page.setViewportSize({ width: 700, height: 500 });
  expect(await heightBelow(page)).toBeLessThan(3);
  expect(errors).toEqual([]);
});

test('a run is shown as working until its first text, and one without an answer says so', async () => {
  const gate = new Gate();
  const { page, errors } = await open([{ gate, parts: [] }, { text: 'Blue.' }]);
  const silence = page.getByText('The run ended without an answer.');
  await send(page, 'What color is it?');
  await page.locator('.working').waitFor();
  expect(await silence.count()).toBe(0);
  gate.open();
  await silence.waitFor();
  expect(await page.locator('.working').count()).toBe(0);
  await send(page, 'Once more?');
  await page.getByRole('log').getByText('Blue.').waitFor();
  expect(await silence.count()).toBe(0);
  expect(errors).toEqual([]);
});

test('a conversation follows its end until the reader scrolls up, and again from the next message on', async () => {
  const gates = [new Gate(), new Gate()];
  const [first, second] = gates;
  let calls = 0;
  const wait = new FunctionTool({
    name: 'wait',
    description: 'Waits.',
    execute: async () => {
      await (calls++ < 3 ? first : second)?.pass();
      return {};
    },
  });
  const round = { calls: ['a', 'b', 'c'].map((name) => ({ name: 'wait', args: { name } })) };
  const long = Array.from({ length: 30 }, (_, line) => `part ${line}`).join('\n\n');
  const { page, errors } = await open([round, long, round, 'Done.'], { fill, tools: [wait] });
  const log = page.getByRole('log');
  await log.getByText('line 0 of note 29').waitFor();
  await send(page, 'Wait for three');
  await expect.poll(() => log.locator('.call').count()).toBe(3);
  expect(await heightBelow(page)).toBeLessThan(3);
  first?.open();
  await log.getByText('part 29').waitFor();
  expect(await heightBelow(page)).toBeLessThan(3);

  await send(page, 'Wait again');
  await expect.poll(() => log.locator('.call').count()).toBe(6);
  expect(await heightBelow(page)).toBeLessThan(3);
  await log.hover();
  await page.mouse.wheel(0, -200);
  await expect.poll(() => heightBelow(page)).toBeGreaterThan(100);
  const top = (): Promise<number> => page.evaluate(`document.querySelector('.messages').scrollTop`);
  const before = await top();
  second?.open();
  await log.getByText('Done.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  expect(await heightBelow(page)).toBeGreaterThan(100);
  expect(Math.abs((await top()) - before)).toBeLessThan(3);
  expect(errors).toEqual([]);
});

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

const TEXT = `| City | °C | Note |
|---|--:|---|
| Rome | 24 | ${'a very long note and '.repeat(12)} |

- [x] done
- [ ] open
  1. nested

![inline](data:image/png;base64,${PIXEL})

${'long'.repeat(60)}
`;

test('chunks that arrive faster than the page draws are drawn together', async () => {
  const chunks = Array.from({ length: 600 }, (_, index) =>
    index % 20 === 0 ? `\n\n## Part ${index}\n\n` : `word${index} `,
  );
  const { page, errors } = await open([{ chunks }]);
  await page.evaluate(`globalThis.drawn = 0;
    new MutationObserver(() => drawn++).observe(document.querySelector('[role=log]'), { subtree: true, childList: true, characterData: true })`);
  await send(page, 'Write');
  await page.getByRole('log').getByText('word599').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  expect(await page.evaluate('drawn')).toBeLessThan(300);
  expect(await page.getByRole('log').locator('h2').count()).toBe(30);
  expect(errors).toEqual([]);
});

test('the text of a model has whole words in tables, nested lists below their items, and its own pictures', async () => {
  const { page, errors } = await open([TEXT]);
  await send(page, 'Write');
  const log = page.getByRole('log');
  await log.getByText('nested').waitFor();
  const cells = await page.evaluate<
    string[]
  >(`[...document.querySelectorAll('.markdown th, .markdown td')].map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return cell.textContent + ': ' + range.getClientRects().length;
  })`);
  expect(cells).toEqual(expect.arrayContaining(['City: 1', '°C: 1', 'Rome: 1', '24: 1']));
  const [done = 0, nested = 0] = await page.evaluate<number[]>(`['done', 'nested'].map((text) => {
    const item = [...document.querySelectorAll('.markdown li')].findLast((each) => each.textContent.trim() === text);
    const range = document.createRange();
    range.selectNode(item.lastChild);
    return range.getBoundingClientRect().left;
  })`);
  expect(nested).toBeGreaterThan(done + 10);
  await log.getByRole('img', { name: 'inline' }).waitFor();
  expect(
    await page.evaluate(
      `document.querySelector('.messages').scrollWidth - document.querySelector('.messages').clientWidth`,
    ),
  ).toBe(0);
  expect(errors).toEqual([]);
});

test('texts and files that cannot be drawn are shown as plain text or with a reason, and the rest of the page works', async () => {
  const list = Array.from({ length: 400 }, (_, index) => `${'  '.repeat(index)}- item`).join('\n');
  const texts = [
    `${'>'.repeat(2000)} quoted`,
    `${'> '.repeat(3000)} quoted twice`,
    list,
    '*a_'.repeat(7000),
    'The last one.',
  ];
  const { page, errors } = await open(['Hello.'], {
    fill: async (service) => {
      const session = await service.createSession(KEY);
      for (const text of texts) await service.appendEvent({ session, event: modelEvent('helper', text) });
      const parts = [{ text: 'A file:' }, { inlineData: { mimeType: 'text/plain', data: 'not base64 !!!' } }];
      await service.appendEvent({ session, event: modelEvent('helper', parts) });
    },
  });
  const log = page.getByRole('log');
  await log.getByText('The data of this file are not base64.').waitFor();
  for (const text of ['quoted twice', '- item', '*a_*a_', 'The last one.']) await log.getByText(text).waitFor();
  expect(await log.locator('blockquote, .markdown li').count()).toBe(0);
  expect(errors).toEqual([]);
  // A time that no server sends, which a page cannot draw.
  const session = /\/sessions\/first\?/;
  await page.route(session, async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    await route.fulfill({ response, body: text.replace(/"timestamp":[\d.]+/, '"timestamp":1e300') });
  });
  await page.reload();
  const cannot = page.getByRole('alert').getByText('This cannot be shown: ');
  await expect.poll(() => cannot.count()).toBe(2);
  await log.locator('.plain').first().waitFor();
  await log.getByText('The last one.').waitFor();
  await page.getByRole('tab', { name: 'State' }).click();
  await expect.poll(() => cannot.count()).toBe(1);
  await send(page, 'Hi');
  await log.getByText('Hello.').waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  await page.reload();
  await log.getByText('Hello.').waitFor();
  await cannot.waitFor({ state: 'detached' });
});

test('each text has the direction of its language, and a link to a footnote scrolls', async () => {
  const arabic = 'افتح الملف `config.json` ثم شغّل الأمر `npm start` وانتظر.';
  const { page, errors } = await open([
    `${arabic}\n\n- ${arabic}\n\nOpen it.[^1]\n\n\`\`\`\nnpm start\n\`\`\`\n\n[^1]: A note.`,
  ]);
  await send(page, arabic);
  const log = page.getByRole('log');
  const pages = page.context().pages();
  await log.getByText('A note.').waitFor();
  const directionOf = (selector: string): Promise<string> =>
    page.evaluate(`getComputedStyle(document.querySelector('[role=log] ${selector}')).direction`);
  for (const selector of ['.user .plain', '.markdown > p:first-child', '.markdown li'])
    expect([selector, await directionOf(selector)]).toEqual([selector, 'rtl']);
  for (const selector of ['.markdown > p:nth-of-type(2)', '.markdown pre', '.footnotes'])
    expect([selector, await directionOf(selector)]).toEqual([selector, 'ltr']);
  await log.locator('.markdown sup a').click();
  await log.locator('.footnotes a').click();
  expect(page.context().pages()).toEqual(pages);
  expect(errors).toEqual([]);
});

test('long values are cut until the reader wants all of them, and then have no colors', async () => {
  const rows = Array.from({ length: 20_000 }, (_, index) => ({ index, name: `row ${index}` }));
  const list = new FunctionTool({ name: 'list', description: 'Lists.', execute: () => ({ rows }) });
  const report = new FunctionTool({
    name: 'report',
    description: 'Reports.',
    execute: (_args, context) => context.saveArtifact('report.txt', { text: `${'line\n'.repeat(50_000)}the end` }),
  });
  const { page, errors } = await open([{ calls: [{ name: 'list' }, { name: 'report' }] }, 'Done.'], {
    tools: [list, report],
  });
  await send(page, 'List');
  const log = page.getByRole('log');
  await log.getByText('Done.').waitFor();
  await log.locator('summary', { hasText: 'list' }).click();
  const json = log.locator('.json').last();
  await json.getByRole('button', { name: /^Show all .* characters$/ }).click();
  await json.getByText('row 19999').waitFor();
  expect(await json.locator('span').count()).toBe(0);
  await log.getByRole('button', { name: 'report.txt' }).click();
  const preview = page.getByRole('region', { name: 'report.txt' });
  await preview.getByText('line').waitFor();
  expect(await preview.getByText('the end').count()).toBe(0);
  await preview.getByRole('button', { name: 'Show all 250,007 characters' }).click();
  await preview.getByText('the end').waitFor();
  expect(errors).toEqual([]);
});

test('the actions of a message are visible on a screen without a pointer', async () => {
  const opacity = (page: Page): Promise<string> =>
    page.evaluate(`getComputedStyle(document.querySelector('.message footer')).opacity`);
  const touched = await open(['Blue.'], { hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } });
  await send(touched.page, 'What color?');
  await touched.page.getByRole('log').getByText('Blue.').waitFor();
  expect(await opacity(touched.page)).toBe('1');
  await touched.page.getByRole('button', { name: 'Edit', exact: true }).tap();
  await touched.page.getByRole('textbox', { name: 'Edited message' }).waitFor();
  const pointed = await open(['Blue.']);
  await send(pointed.page, 'What color?');
  await pointed.page.getByRole('log').getByText('Blue.').waitFor();
  expect(await opacity(pointed.page)).toBe('0');
});

const SPANS = '/dev/apps/app/users/ann/sessions/first/spans?content=false';

function durationOf(ms: number): string {
  if (ms < 1) return '<1 ms';
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

test.each([
  ['those that the server measured', true],
  ['left out where the server keeps no spans', false],
])('the durations of calls that were made at once are %s', async (_what, hasSpans) => {
  const slow = new Gate();
  const wait = new FunctionTool({
    name: 'wait',
    description: 'Waits.',
    execute: async () => {
      await slow.pass();
      return {};
    },
  });
  const { page, errors } = await open(
    [{ calls: [{ name: 'look' }, { name: 'wait' }] }, 'Both.', { calls: [{ name: 'look' }] }, 'One.'],
    { hasSpans, tools: [look, wait] },
  );
  const log = page.getByRole('log');
  await send(page, 'Two');
  await log.getByText('running').nth(1).waitFor();
  slow.open();
  await log.getByText('Both.').waitFor();
  const shown = (): Promise<string[]> => log.locator('.call-status').allTextContents();
  const spans = hasSpans ? await page.evaluate<StoredSpan[]>(`fetch('${SPANS}').then((answer) => answer.json())`) : [];
  const measured = spans
    .filter(({ kind }) => kind === 'tool')
    .map(({ startMs, endMs = 0 }) => `completed, ${durationOf(endMs - startMs)}`);
  await expect.poll(shown).toEqual(hasSpans ? measured : ['completed', 'completed']);
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await send(page, 'One');
  await log.getByText('One.').waitFor();
  await expect.poll(async () => (await shown()).at(-1)).toMatch(/^completed, .+ m?s$/);
  expect(errors).toEqual([]);
});

test('agents have different colors, and the list names a session by its message while its first run is in progress', async () => {
  const gate = new Gate();
  const subAgents = ['p1', 'sum'].map(
    (name) => new LlmAgent({ name, model: new ScriptedModel([name === 'sum' ? { gate, text: 'Sum.' } : 'One.']) }),
  );
  const { page, errors } = await open([], { agent: new SequentialAgent({ name: 'team', subAgents }) });
  const list = page.getByRole('list', { name: 'Sessions' });
  await page.getByRole('button', { name: 'New', exact: true }).click();
  await send(page, 'Count for me');
  await list.getByText('Count for me').waitFor();
  gate.open();
  await page.getByRole('log').getByText('Sum.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  const hues = await page.evaluate<string[]>(
    `[...document.querySelectorAll('[data-hue]')].map((name) => name.dataset.hue)`,
  );
  expect(hues).toEqual(['0', '1']);
  const id = new URL(page.url()).searchParams.get('session') ?? '';
  await list.getByText(id).waitFor();
  // The whole id is visible.
  const cut = `[...document.querySelectorAll('.sessions small')].filter((line) => line.scrollWidth > line.clientWidth).length`;
  expect(await page.evaluate(cut)).toBe(0);
  expect(errors).toEqual([]);
});
