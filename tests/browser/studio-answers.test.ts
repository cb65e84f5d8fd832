import { LlmAgent } from '@eventloom/llm-agent';
import { Gate, ScriptedLiveModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { KEY, keepPicture, send, useStudio, violations } from './studio-page.ts';
import { ask, basket, login, look, mail, order, pay, ship } from './studio-tools.ts';

const { open, visit } = useStudio();

describe('an answer', () => {
  test("goes to one request, even if the person clicks twice, and the calls have the person's decisions", async () => {
    const { page, errors } = await open(
      [
        {
          calls: [
            { name: 'pay', args: { euros: 1 } },
            { name: 'pay', args: { euros: 2 } },
          ],
        },
        { text: 'Done.' },
      ],
      { tools: [pay] },
    );
    await send(page, 'Pay twice');
    const log = page.getByRole('log');
    const approve = log.getByRole('button', { name: 'Approve', exact: true });
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await expect.poll(() => log.getByRole('heading', { name: 'helper wants to call pay' }).count()).toBe(2);
    await approve.first().dblclick();
    await log.getByText('Approved', { exact: true }).waitFor();
    await log.getByText('completed').waitFor();
    await expect.poll(() => approve.count()).toBe(2);
    await expect.poll(() => approve.first().isDisabled()).toBe(true);
    await expect.poll(() => approve.last().isEnabled()).toBe(true);
    await keepPicture(page, 'approved-one-of-two');
    await log.getByRole('button', { name: 'Reject', exact: true }).last().click();
    await log.getByText('rejected', { exact: true }).waitFor();
    await approve.first().waitFor({ state: 'detached' });
    await expect
      .poll(() => log.locator('.call-status').allTextContents())
      .toEqual([expect.stringMatching(/^completed, /), 'rejected']);
    await expect.poll(() => log.locator('.call-answer').allTextContents()).toEqual(['approved']);
    await log.getByText('pay', { exact: true }).last().click();
    await log.getByText(/^rejected by the user after /).waitFor();
    const summaries = await page.locator('.event-summary').allTextContents();
    expect(summaries).toContain('? asks to approve pay({"euros":1}) ? asks to approve pay({"euros":2})');
    expect(summaries).toContain('← pay waits for an approval ← pay waits for an approval');
    expect(summaries.filter((each) => each.startsWith('!'))).toEqual(['! approved', '! rejected']);
    expect(await page.locator('.event-type').allTextContents()).toContain('question');
    await keepPicture(page, 'answered');
    expect(errors).toEqual([]);
  });

  test('to what an agent asks during a voice call is given in the call', async () => {
    const model = new ScriptedLiveModel([
      [
        { heard: 'content' },
        { content: { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'pay', args: { euros: 5 } } }] } },
        { heard: /requires confirmation/ },
        { outputTranscription: { text: 'Please approve it.', finished: true } },
        { turnComplete: true },
        { heard: 'content' },
      ],
      [
        { heard: /paid/ },
        { outputTranscription: { text: 'It is done.', finished: true } },
        { turnComplete: true },
        { heard: /Again/ },
        { content: { role: 'model', parts: [{ functionCall: { id: 'c2', name: 'pay', args: { euros: 6 } } }] } },
        { heard: /paid/ },
        { outputTranscription: { text: 'Paid again.', finished: true } },
        { turnComplete: true },
        { outputTranscription: { text: 'Half a', finished: false } },
        { heard: /never/ },
      ],
      [
        { heard: 'content' },
        { outputTranscription: { text: 'I am back.', finished: true } },
        { turnComplete: true },
        { heard: /never/ },
      ],
    ]);
    const agent = new LlmAgent({ name: 'speaker', model, tools: [pay] });
    const { page, errors } = await open([], { agent, permissions: ['microphone'] });
    await page.getByRole('button', { name: 'Speak', exact: true }).click();
    await page.getByText('Speak now').waitFor();
    const call = page.getByRole('group', { name: 'Voice call' });
    await call.getByRole('textbox', { name: 'Message' }).fill('Pay five euros');
    await call.getByRole('button', { name: 'Send' }).click();
    const log = page.getByRole('log');
    await log.getByText('Pay five euros').waitFor();
    await log.getByText('Please approve it.').waitFor();
    const form = log.getByRole('group', { name: /wants to call/ });
    await form.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await keepPicture(page, 'asked-in-a-call');
    await page.setViewportSize({ width: 390, height: 780 });
    await keepPicture(page, 'asked-in-a-call-narrow');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'End call' }).click();
    // An answer of the next call.
    await log.getByText('press Speak first').waitFor();
    await keepPicture(page, 'asked-in-an-ended-call');
    await page.evaluate(`window.WebSocket = class extends WebSocket {
      constructor(...params) {
        super(...params);
        window.lose = () => this.dispatchEvent(new CloseEvent('close', { code: 1006 }));
      }
    }`);
    await page.getByRole('button', { name: 'Speak', exact: true }).click();
    await page.getByText('Speak now').waitFor();
    await form.getByRole('button', { name: 'Approve', exact: true }).click();
    await log.getByText('It is done.').waitFor();
    await form.waitFor({ state: 'detached' });
    await log.getByText(/^completed/).waitFor();
    await call.getByRole('textbox', { name: 'Message' }).fill('Again');
    await call.getByRole('button', { name: 'Send' }).click();
    await form.getByRole('button', { name: 'Approve', exact: true }).click();
    await log.getByText('Paid again.').waitFor();
    await form.waitFor({ state: 'detached' });
    await log.getByText('Half a').waitFor();
    // A lost connection is opened again, with the conversation so far.
    await page.evaluate('window.lose()');
    await page.getByText('The connection was lost. Connecting again…').waitFor();
    await page.getByText('Speak now').waitFor();
    await call.getByRole('textbox', { name: 'Message' }).fill('Are you there?');
    await call.getByRole('button', { name: 'Send' }).click();
    await log.getByText('I am back.').waitFor();
    // The events of the session, which has the beginning of what the agent said when the connection was lost.
    await page.getByRole('button', { name: 'inspect' }).click();
    await expect.poll(() => page.locator('.event-summary').allTextContents()).toContain('Half a');
    await page.getByRole('button', { name: 'chat' }).click();
    for (const text of ['Please approve it.', 'Paid again.', 'Half a', 'I am back.'])
      expect(await log.getByText(text).count()).toBe(1);
    await page.getByRole('button', { name: 'End call' }).click();
    await page.getByRole('button', { name: 'Speak', exact: true }).waitFor();
    await expect.poll(() => log.locator('.call-answer').allTextContents()).toEqual(['approved', 'approved']);
    expect(await log.getByText('Pay five euros').count()).toBe(1);
    expect(errors).toEqual([]);
  });

  test('is checked in its form, and stays there with the reasons of the server if that refuses it', async () => {
    const { page } = await open([{ calls: [{ name: 'order' }] }, { text: 'Ordered.' }], { tools: [order] });
    await send(page, 'Order');
    const form = page.getByRole('group', { name: /^helper needs an input/ });
    const submit = form.getByRole('button', { name: 'Send' });
    const faults = (): Promise<string[]> => form.getByRole('alert').allTextContents();
    expect(await form.getByLabel('count').inputValue()).toBe('2');
    await form.getByLabel('name').fill('Al');
    await form.getByLabel('email').fill('nobody');
    await form.getByLabel('count').fill('9');
    await submit.click();
    // The texts are those of the browser.
    await expect.poll(faults).toHaveLength(5);
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('./name');
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'form-checked');
    await form.getByLabel('name').fill('Ann');
    await form.getByLabel('email').fill('ann@example.com');
    await form.getByLabel('count').fill('3');
    await form.getByLabel('street').fill('Main Street 1');
    await form.getByLabel('tags').fill('red');
    await submit.click();
    await form.getByText('too few').waitFor();
    await expect.poll(faults).toHaveLength(1);
    expect(await form.getByLabel('street').inputValue()).toBe('Main Street 1');
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await form.getByLabel('tags').fill('red\nblue');
    await submit.click();
    await page.getByRole('log').getByText('Ordered.').waitFor();
    await page.getByRole('log').getByText('order', { exact: true }).click();
    // In the answer of the person, and in the response of the tool.
    await expect.poll(() => page.getByText('"street": "Main Street 1"').count()).toBe(2);
  });

  test('has lists of objects, whose items are added and removed by keyboard', async () => {
    const { page, errors } = await open([{ calls: [{ name: 'basket' }] }, 'Ordered.'], { tools: [basket] });
    await send(page, 'Order');
    const form = page.getByRole('group', { name: /^helper needs an input/ });
    const line = (number: number) => form.getByRole('group', { name: `lines ${number}`, exact: true });
    const add = form.getByRole('button', { name: 'Add to lines' });
    const focused = () => page.evaluate<string>('document.activeElement.name || document.activeElement.textContent');
    await line(1).getByLabel('product').fill('apple');
    await add.press('Enter');
    await expect.poll(focused).toBe('./lines/1/product');
    await page.keyboard.type('cherry');
    await line(2).getByLabel('count').fill('7');
    await add.press('Enter');
    await page.keyboard.type('bread');
    await expect.poll(() => add.isDisabled()).toBe(true);
    await line(3).getByLabel('count').fill('2');
    await line(3).getByRole('button', { name: 'Add to options' }).press('Enter');
    await page.keyboard.type('sliced');
    await line(3).getByLabel('gift').selectOption('true');
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'form-of-lists');
    await form.getByRole('button', { name: 'Send' }).click();
    await line(2).getByRole('alert').waitFor();
    expect(await form.getByRole('alert').count()).toBe(1);
    await form.getByRole('button', { name: 'Remove lines 2' }).press('Enter');
    await expect.poll(focused).toBe('Remove lines 2');
    expect(await line(2).getByLabel('product').inputValue()).toBe('bread');
    expect(await form.getByRole('alert').count()).toBe(0);
    await form.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('log').getByText('Ordered.').waitFor();
    await page.getByRole('log').getByText('basket', { exact: true }).click();
    const response = page.locator('.call .json').last();
    expect(JSON.parse(await response.locator('pre').innerText())).toEqual({
      given: {
        lines: [
          { product: 'apple', count: 1 },
          { product: 'bread', count: 2, options: [{ name: 'sliced', gift: true }] },
        ],
      },
    });
    // The browser reports the refused answer.
    expect(errors.filter((error) => !error.includes('400'))).toEqual([]);
  });

  test('has groups that are added, one of several shapes, texts with several lines, and the time of a default', async () => {
    const { page, errors } = await open([{ calls: [{ name: 'ship' }] }, 'Shipped.'], { tools: [ship] });
    await send(page, 'Ship');
    const form = page.getByRole('group', { name: /^helper needs an input/ });
    const group = (name: string) => form.getByRole('group', { name });
    const focused = () => page.evaluate<string>('document.activeElement.name');
    // The message field gets the focus at the end of the run.
    await page.locator('.composer').getByRole('button', { name: 'Send' }).waitFor();
    expect(await form.getByLabel('at').inputValue()).not.toBe('');
    await group('shipping').getByRole('button', { name: 'Add shipping' }).press('Enter');
    await expect.poll(focused).toBe('./shipping/street');
    expect(await group('shipping').getByLabel('country').inputValue()).toBe('IT');
    await group('billing').getByRole('button', { name: 'Add billing' }).press('Enter');
    await group('billing').getByRole('button', { name: 'Remove billing' }).press('Enter');
    await expect.poll(focused).toBe('./billing#');
    await form.getByRole('button', { name: 'Send' }).click();
    await expect.poll(() => form.getByRole('alert').count()).toBe(4);
    await expect.poll(focused).toBe('./shipping/street');
    await page.keyboard.type('Via Roma 1');
    await form.getByLabel('Kind of payment').selectOption('cash');
    await group('payment').getByLabel('isExact').selectOption('false');
    await form.getByLabel('accepted').selectOption('true');
    const text = group('note').getByLabel('text');
    await text.fill('first');
    await text.press('Shift+Enter');
    await page.keyboard.type('second');
    await form.getByRole('button', { name: 'Add to replies' }).press('Enter');
    await page.keyboard.type('reply');
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'form-of-groups');
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('Shipped.').waitFor();
    await page.getByRole('log').getByText('ship', { exact: true }).click();
    const response = page.locator('.call .json').last();
    expect(JSON.parse(await response.locator('pre').innerText())).toEqual({
      given: {
        shipping: { street: 'Via Roma 1', country: 'IT' },
        payment: { kind: 'cash', isExact: false },
        accepted: true,
        at: '2026-01-02T03:04:05.000Z',
        note: { text: 'first\nsecond', replies: [{ text: 'reply' }] },
      },
    });
    expect(errors).toEqual([]);
  });

  test('that is refused because another page was faster makes room for what that page has done', async () => {
    const { page, url, errors } = await open([{ calls: [{ name: 'pay' }] }, 'Paid.'], { tools: [pay] });
    await send(page, 'Pay');
    const other = await visit(url);
    const reject = other.page.getByRole('button', { name: 'Reject', exact: true });
    await reject.waitFor();
    // The other page does not see the answer before it sends its own.
    await other.page.route('**/events?*', (route) => route.abort());
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('log').getByText('Paid.').waitFor();
    await reject.click();
    await other.page.getByRole('log').getByText('Paid.').waitFor();
    await reject.waitFor({ state: 'detached' });
    // The person sees why their answer does not count.
    await other.page.getByRole('alert').getByText('has already been answered').waitFor();
    expect(errors).toEqual([]);
  });

  test('is given from the first request on, also if not all of them fit into the conversation', async () => {
    const { page } = await open([{ calls: [{ name: 'login' }, { name: 'ask' }] }, 'Done.'], {
      tools: [ask, login],
      viewport: { width: 1440, height: 500 },
    });
    await send(page, 'Order');
    const log = page.getByRole('log');
    await log.getByText('Which size?').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).last().waitFor();
    const [box, form] = [await log.boundingBox(), await page.locator('.request').first().boundingBox()];
    // Positions are fractions of a pixel.
    expect(form?.y).toBeGreaterThan((box?.y ?? Infinity) - 1);
  });

  test('can wait: its form is folded, Runs leads back to it, and the person types while the run works', async () => {
    const gate = new Gate();
    const send = new FunctionTool({
      name: 'refund',
      description: 'Refunds.',
      requireConfirmation: true,
      execute: async () => {
        await gate.pass();
        return { refunded: true };
      },
    });
    const { page, errors } = await open([{ calls: [{ name: 'refund', args: { euros: 12 } }] }, 'Refunded.'], {
      tools: [send],
      viewport: { width: 390, height: 780 },
    });
    const log = page.getByRole('log');
    const field = page.getByRole('textbox', { name: 'Message' });
    await field.fill('Refund it');
    await field.press('Enter');
    const form = page.getByRole('group', { name: 'helper wants to call refund' });
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    await approve.waitFor();
    await form.locator('summary').press('Enter');
    await approve.waitFor({ state: 'hidden' });
    expect((await form.boundingBox())?.height).toBeLessThan(60);
    await keepPicture(page, 'folded-request');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'inspect' }).click();
    await page.getByRole('tab', { name: 'Runs' }).click();
    await page.getByText(/^has waited .* for an approval of refund$/).waitFor();
    await keepPicture(page, 'answer-in-runs');
    await page.locator('.open-run').getByRole('button', { name: 'Answer' }).press('Enter');
    await approve.waitFor();
    expect(await page.evaluate('document.activeElement.closest(".request") !== null')).toBe(true);
    await approve.press('Enter');
    await gate.reached;
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA');
    await page.keyboard.type('Thank you');
    gate.open();
    await log.getByText('Refunded.').waitFor();
    expect(await field.inputValue()).toBe('Thank you');
    expect(errors).toEqual([]);
  });

  test('to a request for a user name and a password has both', async () => {
    const { page, errors } = await open([{ calls: [{ name: 'mail' }] }, { text: 'Done.' }], { tools: [mail] });
    await send(page, 'Read my mail');
    const form = page.getByRole('group', { name: /needs a credential/ });
    await form.getByText('HTTP basic authentication, kept as mail').waitFor();
    await form.getByLabel('User name').fill('ann');
    await form.getByLabel('Password').fill('secret');
    await form.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('log').getByText('Done.').waitFor();
    await page.locator('.call-name').click();
    await page.getByText('"user": "ann"').waitFor();
    expect(errors).toEqual([]);
  });
});

test('after a failure the page shows the calls that were made, and the person can continue without them', async () => {
  const broken = { chunks: ['The sky '], error: new Error('broken') };
  const { page } = await open([{ calls: [{ name: 'look' }] }, broken, { text: 'Blue.' }], { tools: [look] });
  await send(page, 'What color?');
  const after = page.getByRole('region', { name: 'After the failure' });
  await after.getByText('A call has already been made: look.').waitFor();
  await after.getByRole('button', { name: 'Start over from “What color?”' }).waitFor();
  // The failure is shown once, below what came before it.
  await page.getByRole('log').getByText('The sky').waitFor();
  expect(await page.getByRole('log').getByText('interrupted').count()).toBe(0);
  await expect.poll(() => page.getByRole('log').getByRole('alert').count()).toBe(1);
  expect(await violations(page)).toEqual([]);
  await keepPicture(page, 'failed-after-a-call');
  await after.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('log').getByText('Blue.').waitFor();
  await expect.poll(() => page.getByRole('log').getByText('look', { exact: true }).count()).toBe(1);
});

test('a failed run is started over once, even if the person clicks twice', async () => {
  const failing = [{ calls: [{ name: 'look' }] }, { error: new Error('broken') }];
  const { page, sessionService } = await open([...failing, { calls: [{ name: 'look' }] }, 'Blue.', 'Again.'], {
    tools: [look],
  });
  await send(page, 'What color?');
  const again = page.getByRole('button', { name: 'Start over from “What color?”' });
  await again.waitFor();
  const released = Promise.withResolvers<void>();
  await page.route('**/rewind', async (route) => {
    await released.promise;
    await route.continue();
  });
  // Both before the page is drawn again.
  await again.evaluate((button: { click: () => void }) => {
    button.click();
    button.click();
  });
  released.resolve();
  await page.getByRole('log').getByText('Blue.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  const { events } = await sessionService.listEvents({ ...KEY, limit: 1000 });
  expect(events.filter(({ actions }) => actions.rewindBeforeInvocationId)).toHaveLength(1);
  expect(events.filter(({ author }) => author === 'user')).toHaveLength(3);
});

test('a session that cannot be read is no failed run, and an edited message is kept until the rewind is accepted', async () => {
  const { page, sessionService } = await open(['Blue.', 'Green.']);
  const log = page.getByRole('log');
  const session = /\/sessions\/first\?/;
  await page.route(session, (route) => (route.request().method() === 'GET' ? route.abort() : route.continue()));
  await send(page, 'What color?');
  await log.getByText('Blue.').waitFor();
  await log.getByRole('alert').getByText('The server does not answer.').waitFor();
  expect(await page.getByRole('button', { name: /^(Try again|Start over)/ }).count()).toBe(0);
  await page.unroute(session);
  await log.getByRole('button', { name: 'Read the session again' }).click();
  await log.getByRole('alert').waitFor({ state: 'detached' });

  await page.route('**/rewind', (route) => route.abort());
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const edited = page.getByRole('textbox', { name: 'Edited message' });
  await edited.fill('And the grass?');
  await page.getByRole('button', { name: 'Send instead' }).click();
  await log.getByRole('alert').getByText('The server does not answer.').waitFor();
  expect(await edited.inputValue()).toBe('And the grass?');
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
  await page.unroute('**/rewind');
  await page.getByRole('button', { name: 'Send instead' }).click();
  await log.getByText('Green.').waitFor();
  await log.getByText('Blue.').waitFor({ state: 'detached' });
  const { events } = await sessionService.listEvents({ ...KEY, limit: 1000 });
  expect(events.filter(({ actions }) => actions.rewindBeforeInvocationId)).toHaveLength(1);
});

test('an edited message can be sent once the session has been read, and keeps its text until then', async () => {
  const { page } = await open(['Blue.', 'Green.']);
  const log = page.getByRole('log');
  await send(page, 'What color?');
  await log.getByText('Blue.').waitFor();
  const released = Promise.withResolvers<void>();
  // The page asks for the newest run after it has drawn the events.
  await page.route(/\/runs\/[^/]+\?/, async (route) => {
    await released.promise;
    await route.continue();
  });
  await page.reload();
  await log.getByText('Blue.').waitFor();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Edited message' }).fill('And the grass?');
  const sendInstead = page.getByRole('button', { name: 'Send instead' });
  expect(await sendInstead.isDisabled()).toBe(true);
  released.resolve();
  await expect.poll(() => sendInstead.isDisabled()).toBe(false);
  await page.getByRole('textbox', { name: 'Edited message' }).press('Enter');
  await log.getByText('Green.').waitFor();
  await log.getByText('Blue.').waitFor({ state: 'detached' });
});
