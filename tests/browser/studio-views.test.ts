import { functionCallEvent, functionResponseEvent, ScriptedLiveModel } from '@eventloom/testing';
import { LlmAgent } from '@eventloom/llm-agent';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { graph } from './studio-graph.ts';
import { KEY, keepPicture, send, useStudio, violations } from './studio-page.ts';
import { ask, askLong, login, look, pay, save } from './studio-tools.ts';

const { open } = useStudio();
const tools = [look, pay, save, ask, login];
const TABS = ['Events', 'State', 'Artifacts', 'Agents', 'Trace', 'Runs'];

const REPLY = `The sky is **blue**, because air scatters short waves more.

| color | wave | other names |
|---|---|---|
| blue | 450 nm | ${'sky'.repeat(50)} |
| red | 700 nm | rose |

\`\`\`ts
const sky = 'blue'; // ${'and so on '.repeat(30)}
\`\`\`

- [ ] open
- [x] closed
`;

/** Has a conversation with tools, a file and an open approval. */
async function talk(page: Page): Promise<void> {
  await send(page, 'What color is it?');
  await page.getByRole('log').getByText('450 nm').waitFor();
  await send(page, 'Save that');
  await page.getByRole('log').getByText('Saved.').waitFor();
  await send(page, 'Pay for it');
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
}

const usageMetadata = { promptTokenCount: 812, candidatesTokenCount: 64, timingInfo: { timeToFirstTokenMs: 180 } };
const steps = [
  { calls: [{ name: 'look' }] },
  { text: REPLY, response: { usageMetadata, modelVersion: 'scripted' } },
  { calls: [{ name: 'save' }] },
  { text: 'Saved.' },
  { thought: 'It costs money.', calls: [{ name: 'pay', args: { euros: 12, note: 'the picture of the blue sky' } }] },
];

/** Checks the accessibility rules and saves a picture. */
async function check(page: Page, name: string, rules: 'all' | 'colors' = 'all'): Promise<void> {
  await keepPicture(page, name);
  expect([name, ...(await violations(page, rules))]).toEqual([name]);
}

/**
 * Checks a page in dark colors and then in light ones. In the dark nothing but colors differs, so the rules about them
 * are checked there.
 */
async function checkBoth(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  await check(page, `dark-${name}`, 'colors');
  await page.emulateMedia({ colorScheme: 'light' });
  await check(page, `light-${name}`);
}

test('no view breaks a rule of accessibility', async () => {
  const { page, errors } = await open(steps, { tools });
  await checkBoth(page, 'welcome');
  await talk(page);
  for (const name of TABS) {
    await page.getByRole('tab', { name }).click();
    await checkBoth(page, name.toLowerCase());
  }
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('group', { name: 'Events' }).getByRole('button').nth(2).click();
  await page.getByRole('log').getByText('look').click();
  await page.getByRole('slider').press('ArrowLeft');
  await checkBoth(page, 'earlier-moment');
  await page.getByRole('button', { name: 'Back to now' }).click();
  await page.getByRole('log').getByText('What color is it?').hover();
  await checkBoth(page, 'hover');
  await page.getByRole('button', { name: 'Edit' }).first().click();
  await checkBoth(page, 'edit');
  expect(errors).toEqual([]);
});

test('no form, call or graph breaks a rule of accessibility', async () => {
  const forms = await open([{ calls: [{ name: 'ask' }, { name: 'ask' }, { name: 'login' }] }], { tools });
  await send(forms.page, 'Ask me');
  await forms.page.getByLabel('count').last().waitFor();
  await forms.page.getByLabel('API key').waitFor();
  await checkBoth(forms.page, 'forms');

  const model = new ScriptedLiveModel([[{ heard: 'blob' }, { inputTranscription: { text: 'What color?' } }]]);
  const agent = new LlmAgent({ name: 'speaker', model });
  const voice = await open([], { agent, permissions: ['microphone'] });
  await voice.page.getByRole('button', { name: 'Speak', exact: true }).click();
  await voice.page.getByRole('log').getByText('What color?').waitFor();
  await checkBoth(voice.page, 'voice');

  const ways = graph();
  const drawn = await open([], { agent: ways.agent });
  await drawn.page.getByRole('tab', { name: 'Agents' }).click();
  await send(drawn.page, 'left');
  await drawn.page.locator('[data-node=left][data-state=active]').waitFor();
  await checkBoth(drawn.page, 'graph');
  ways.gate.open();
  await drawn.page.locator('[data-node=left][data-state=done]').waitFor();

  const failed = await open([{ error: new Error('the model is broken') }]);
  await send(failed.page, 'Hello');
  await failed.page.getByRole('button', { name: 'Try again' }).waitFor();
  await checkBoth(failed.page, 'failed');
});

test('every view fits on a screen of 360 pixels', async () => {
  const { page, errors } = await open(steps, { tools, viewport: { width: 360, height: 740 } });
  await talk(page);
  const overflow = (): Promise<number> => page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect(await overflow()).toBe(0);
  await check(page, 'narrow-chat');
  await page.getByRole('button', { name: 'sessions' }).click();
  expect(await overflow()).toBe(0);
  await check(page, 'narrow-sessions');
  await page.getByRole('button', { name: 'inspect' }).click();
  // The list was hidden until now, and shows its end.
  const list = page.getByRole('group', { name: 'Events' });
  await expect.poll(() => list.evaluate((box: { scrollTop: number }) => box.scrollTop)).toBeGreaterThan(0);
  for (const name of TABS) {
    await page.getByRole('tab', { name }).click();
    expect(await overflow(), name).toBe(0);
    await check(page, `narrow-${name.toLowerCase()}`);
  }
  // Parts that scroll by themselves hide what is too wide for them.
  const isInside = async (locator: Locator): Promise<boolean> => {
    const { x, width } = (await locator.boundingBox()) ?? { x: -1, width: 0 };
    return x >= 0 && width > 0 && x + width <= 360;
  };
  for (const name of TABS) expect(await isInside(page.getByRole('tab', { name })), name).toBe(true);
  await page.getByRole('button', { name: 'chat' }).click();
  for (const status of await page.locator('.call-status').all()) expect(await isInside(status)).toBe(true);
  const request = page.locator('.request');
  expect(
    await request.evaluate((box: { scrollWidth: number; clientWidth: number }) => box.scrollWidth - box.clientWidth),
  ).toBe(0);
  await page.getByRole('button', { name: 'inspect' }).click();
  await page.getByRole('tab', { name: 'Events' }).click();
  await page.getByRole('group', { name: 'Events' }).getByRole('button').last().click();
  expect(await isInside(page.getByRole('button', { name: 'Close' }))).toBe(true);
  await check(page, 'narrow-event');
  await page.getByRole('button', { name: 'chat' }).click();
  await page.getByRole('slider').press('Home');
  expect(await isInside(page.getByRole('button', { name: 'Back to now' }))).toBe(true);
  expect((await page.locator('.track').boundingBox())?.width).toBeGreaterThan(100);
  await check(page, 'narrow-earlier-moment');
  expect(errors).toEqual([]);
});

test.each([768, 1280])('every control is inside its part of the page on a screen of %i pixels', async (width) => {
  const { page } = await open(steps, { tools, viewport: { width, height: 740 } });
  await talk(page);
  const tooWide = (): Promise<string[]> =>
    page.evaluate(`[...document.querySelectorAll('button, input, select, textarea')].flatMap((control) => {
      const [inner, outer] = [control, control.closest('section[aria-label]')].map((each) => each?.getBoundingClientRect());
      const isInside = !outer || inner.width === 0 || (inner.left >= outer.left && inner.right <= outer.right + 1);
      return isInside ? [] : [control.outerHTML.slice(0, 100)];
    })`);
  expect(await tooWide()).toEqual([]);
  if (width < 1100) {
    await page.getByRole('button', { name: 'inspect' }).click();
    expect(await page.getByRole('region', { name: 'Sessions' }).isVisible()).toBe(false);
  }
  // The chat stays beside the inspector.
  expect(await page.getByRole('log').isVisible()).toBe(true);
  expect(await page.getByRole('slider').isVisible()).toBe(true);
  for (const name of TABS) {
    await page.getByRole('tab', { name }).click();
    expect([name, ...(await tooWide())]).toEqual([name]);
  }
  const hidden = await page.evaluate(
    "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.tab-list'))",
  );
  expect(hidden).toBe(0);
});

test.each([360, 1440])('a request with long words is inside its card on a screen of %i pixels', async (width) => {
  const calls = [{ name: askLong.name }];
  const { page } = await open([{ calls }], { tools: [askLong], viewport: { width, height: 740 } });
  await send(page, 'Ask me');
  await page.locator('.request textarea, .request input').first().waitFor();
  const tooWide = await page.evaluate(`[...document.querySelectorAll('.request, .request *')]
    .filter((part) => part.clientWidth > 0 && part.scrollWidth > part.clientWidth + 1)
    .map((part) => part.outerHTML.slice(0, 100))`);
  expect(tooWide).toEqual([]);
  // A folded call has one line.
  const broken =
    await page.evaluate(`[...document.querySelectorAll('.call:not([open]) summary > :not(.call-arguments)')].flatMap((part) => {
      const range = document.createRange();
      range.selectNodeContents(part);
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top / 8))).size > 1 ? [part.textContent] : [];
    })`);
  expect(broken).toEqual([]);
});

test('all controls can be used with only the keyboard', async () => {
  const { page } = await open(steps, { tools });
  /** Presses Tab until the element with this name has the focus. */
  const tabTo = async (name: string): Promise<void> => {
    for (let presses = 0; presses < 80; presses++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<string>(
        `(document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent).trim()`,
      );
      if (focused === name) return;
    }
    throw new Error(`the keyboard does not reach ${name}`);
  };
  await tabTo('What color is it?');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText('450 nm').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await tabTo('Message');
  await page.keyboard.type('Save that');
  await page.keyboard.press('Enter');
  await page.getByRole('log').getByText('Saved.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await tabTo('Message');
  await page.keyboard.type('Pay for it');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await tabTo('Reject');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Reject', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await tabTo('Events');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('tab', { name: 'State', selected: true }).waitFor();
  await page.keyboard.press('ArrowLeft');
  // The list of events has one stop, and the arrow keys lead from there.
  await tabTo('Search events');
  for (const key of ['Tab', 'Tab', 'ArrowUp', 'ArrowUp', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  await page.getByRole('button', { name: 'Show this moment' }).waitFor();
  expect(await page.evaluate<boolean>(`document.activeElement.getAttribute('aria-pressed') === 'true'`)).toBe(true);
  await page.keyboard.press('Tab');
  expect(await page.evaluate(`document.activeElement.textContent`)).toBe('Show this moment');
  await page.getByRole('slider').focus();
  await page.keyboard.press('Home');
  await page.getByRole('button', { name: 'Fork here' }).waitFor();
  await tabTo('Fork here');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
});

test('the focus is on the message field or where it was, after what had it is gone', async () => {
  const { page } = await open(['Hello.', 'Hello again.']);
  const isFocused = async (locator: Locator): Promise<void> =>
    expect
      .poll(() => locator.evaluate((element: { matches(selector: string): boolean }) => element.matches(':focus')))
      .toBe(true);
  const field = page.getByRole('textbox', { name: 'Message' });
  await isFocused(field);
  await send(page, 'Hello?');
  await page.getByRole('log').getByText('Hello.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await page.getByRole('button', { name: 'New', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
  await isFocused(field);
  await page.getByRole('list', { name: 'Sessions' }).getByRole('button').nth(1).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('session') === 'first');
  await isFocused(field);
  const edit = page.getByRole('button', { name: 'Edit', exact: true });
  await edit.focus();
  await page.keyboard.press('Enter');
  await isFocused(page.getByRole('textbox', { name: 'Edited message' }));
  await page.keyboard.press('Escape');
  await isFocused(edit);
  await page.getByRole('button', { name: 'Delete', exact: true }).focus();
  await page.keyboard.press('Enter');
  await isFocused(page.getByRole('button', { name: 'Keep it' }));
  await page.keyboard.press('Escape');
  await isFocused(page.getByRole('button', { name: 'Delete', exact: true }));
  await page.keyboard.press('Enter');
  await isFocused(page.getByRole('button', { name: 'Keep it' }));
  await page.keyboard.press('Enter');
  await isFocused(page.getByRole('button', { name: 'Delete', exact: true }));
  await page.getByRole('slider').press('Home');
  await page.getByRole('button', { name: 'Back to now' }).focus();
  await page.keyboard.press('Enter');
  await isFocused(field);
});

test('the page stays smooth with 10,000 events while they are scrolled, searched and played back', async () => {
  const words = Array.from({ length: 20 }, (_, index) => `word${index} `);
  const { page } = await open(
    Array.from({ length: TABS.length }, () => ({ chunks: words })),
    {
      hasSpans: true,
      fill: async (service) => {
        const session = await service.createSession(KEY);
        for (let index = 0; index < 5000; index++) {
          const event = { invocationId: `e-${index >> 4}` };
          const call = { id: `c${index}`, name: 'look', args: { index } };
          await service.appendEvent({ session, event: functionCallEvent('helper', [call], event) });
          const response = { id: `c${index}`, name: 'look', response: { index } };
          const actions = { stateDelta: { count: index, [`key${index % 50}`]: `value ${index}` }, artifactDelta: {} };
          await service.appendEvent({
            session,
            event: functionResponseEvent('helper', [response], { ...event, actions }),
          });
        }
      },
    },
  );
  await page.getByText('10000 of 10000').waitFor();
  // Records the time of each frame during the work.
  await page.evaluate(`
    globalThis.frames = [];
    let last = performance.now();
    requestAnimationFrame(function next(now) { frames.push(now - last); last = now; requestAnimationFrame(next); })`);
  // The nodes that each change of the page adds.
  await page.evaluate(`window.added = [0];
    new MutationObserver((records) => added.push(records.flatMap(({ addedNodes }) => [...addedNodes])
      .reduce((sum, node) => sum + 1 + (node.querySelectorAll?.('*').length ?? 0), 0)))
      .observe(document.body, { childList: true, subtree: true })`);
  /** Returns the additions since the last call, once there were none for ten frames. */
  const takeAdded = () =>
    page.evaluate<number[]>(`(async () => {
      for (let quiet = 0, count = added.length; quiet < 10; quiet = added.length === count ? quiet + 1 : 0) {
        count = added.length;
        await new Promise(requestAnimationFrame);
      }
      return added.splice(0, added.length, 0);
    })()`);
  await page.evaluate(`(async () => {
    for (const box of [document.querySelector('.event-list'), document.querySelector('.messages')])
      for (let step = 0; step < 120; step++) {
        box.scrollTop = (box.scrollHeight / 120) * step;
        await new Promise(requestAnimationFrame);
      }
  })()`);
  const scrolled = await page.evaluate<number[]>('frames.splice(0)');
  const addedByScrolling = await takeAdded();
  await page.getByLabel('Search events').fill('4999');
  await page.getByRole('group', { name: 'Events' }).getByText('"index":4999').first().waitFor();
  await page.getByRole('slider').press('ArrowLeft');
  await page.getByText('9999 of 10000').waitFor();
  const worked = await page.evaluate<number[]>('frames.splice(0)');
  const addedByWork = await takeAdded();
  await page.getByRole('button', { name: 'Back to now' }).click();
  await page.getByLabel('Search events').fill('');
  await takeAdded();
  const addedByReplies: Record<string, number[]> = {};
  const addedByTabs: Record<string, number[]> = {};
  for (const [index, name] of TABS.entries()) {
    await page.getByRole('tab', { name, exact: true }).click();
    await page.getByRole('tabpanel', { name, exact: true }).waitFor();
    await page.getByRole('slider').press('ArrowLeft');
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByRole('status').getByText('earlier moment').waitFor({ state: 'detached' });
    addedByTabs[name] = await takeAdded();
    await send(page, 'Go on');
    await expect.poll(() => page.getByRole('log').getByText('word19').count()).toBe(index + 1);
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    addedByReplies[name] = await takeAdded();
  }
  const at = (frames: number[], share: number) => frames.toSorted((a, b) => a - b)[Math.floor(frames.length * share)];
  console.log(
    `10,000 events: median frame ${at(scrolled, 0.5)?.toFixed(1)} ms, 95th percentile ${at(scrolled, 0.95)?.toFixed(1)} ms while scrolling; longest frame ${at(worked, 0.9999)?.toFixed(0)} ms while searching and going back`,
  );
  // The number of drawn nodes is limited and does not depend on the machine; the frame time follows from it.
  const sumOf = (added: readonly number[] = []): number => added.reduce((sum, each) => sum + each, 0);
  const most = [addedByScrolling, addedByWork].map((added) => Math.max(...added));
  console.log(
    `10,000 events: at most ${most.join(', ')} nodes are added by a change: scrolling, searching and going back; ` +
      TABS.map(
        (name) => `${name}: ${sumOf(addedByTabs[name])} by opening, ${sumOf(addedByReplies[name])} by a reply`,
      ).join('; '),
  );
  expect(most[0]).toBeGreaterThan(0);
  expect(Math.max(...most)).toBeLessThan(500);
  for (const name of TABS) {
    // Opening a tab, an earlier moment and the way back draw at most what fits on some pages.
    expect(sumOf(addedByTabs[name]), name).toBeLessThan(4000);
    expect(sumOf(addedByReplies[name]), name).toBeGreaterThan(0);
    // A reply of 20 chunks draws its own message again, and neither the conversation nor the tab.
    expect(sumOf(addedByReplies[name]), name).toBeLessThan(700);
  }
  await page.getByRole('tab', { name: 'Events' }).click();
  const rows = page.getByRole('group', { name: 'Events' }).locator('li');
  await rows.first().waitFor();
  expect(await rows.count()).toBeLessThan(60);
  expect(await page.evaluate<number>(`document.querySelectorAll('*').length`)).toBeLessThan(6000);
  await keepPicture(page, 'many-events');
});
