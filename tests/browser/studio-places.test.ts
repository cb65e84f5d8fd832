import { createEvent } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, ParallelAgent } from '@eventloom/multi-agent';
import { Gate, modelEvent, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { KEY, keepPicture, send, useStudio, violations } from './studio-page.ts';
import { look, pay, save } from './studio-tools.ts';

const { open, visit } = useStudio();

test('the back button, the address, the user field and a deletion lead to the right session', async () => {
  const { page, url, sessionService, errors } = await open([{ text: 'One.' }, { text: 'Two.' }]);
  const log = page.getByRole('log');
  const list = page.getByRole('list', { name: 'Sessions' });
  await send(page, 'first question');
  await log.getByText('One.').waitFor();
  await page.getByRole('tab', { name: 'Agents' }).click();
  await page.getByRole('button', { name: 'New', exact: true }).click();
  await send(page, 'second question');
  await log.getByText('Two.').waitFor();
  const second = page.url();
  await page.goBack();
  await log.getByText('One.').waitFor();
  await page.goForward();
  await log.getByText('Two.').waitFor();
  await page.reload();
  await page.getByRole('tab', { name: 'Agents', selected: true }).waitFor();

  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('alertdialog').getByText('Delete “second question”').waitFor();
  expect(await violations(page)).toEqual([]);
  await keepPicture(page, 'delete');
  await page.getByRole('button', { name: 'Keep it' }).click();
  await page.getByRole('alertdialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete it' }).click();
  await list.getByText('second question').waitFor({ state: 'detached' });
  await list.getByText('first question').waitFor();
  expect(page.url()).not.toBe(second);
  expect((await sessionService.listSessions({ appName: 'app', userId: 'ann' })).sessions).toHaveLength(1);

  await page.getByLabel('User', { exact: true }).fill('bob');
  await page.getByLabel('User', { exact: true }).press('Tab');
  await page.waitForURL(({ searchParams }) => searchParams.get('user') === 'bob');
  await list.getByText('first question').waitFor({ state: 'detached' });

  await page.goto(url.replace('app=app', 'app=other'));
  await page.getByRole('heading', { name: 'There is no app “other”' }).waitFor();
  await page.getByRole('button', { name: 'app', exact: true }).click();
  await page.getByRole('textbox', { name: 'Message' }).waitFor();

  // An error of the server is shown as its text, and not as JSON.
  expect(errors).toEqual([]);
  await page.route('**/studio-api/**/sessions*', (route) =>
    route.fulfill({ status: 403, json: { error: 'these are not your sessions', code: 'FORBIDDEN' } }),
  );
  await page.reload();
  await page
    .getByRole('region', { name: 'Sessions' })
    .getByText('these are not your sessions', { exact: true })
    .waitFor();
});

test('the list has all sessions while the page follows a run, and other pages see the run and wait for it', async () => {
  const [first, second] = [new Gate(), new Gate()];
  const { page, url } = await open([
    { text: 'Hello.' },
    { chunks: ['The sky ', first, 'is blue.'] },
    { text: 'Green.' },
    { chunks: ['Three ', second, 'more.'] },
  ]);
  await send(page, 'Hello?');
  await page.getByRole('log').getByText('Hello.').waitFor();
  const another = url.replace('session=first', 'session=second');
  await page.goto(another);
  // A page with a session without events.
  const { page: other } = await visit(another);
  await other.getByRole('textbox', { name: 'Message' }).waitFor();
  await send(page, 'What color?');
  await page.getByRole('log').getByText('The sky').waitFor();
  await page.reload();
  await page.getByRole('log').getByText('The sky').waitFor();
  await page.getByRole('list', { name: 'Sessions' }).getByText('Hello?').waitFor();
  await send(other, 'And the grass?');
  await other.getByRole('status').getByText('queued').waitFor();
  first.open();
  await other.getByRole('log').getByText('Green.').waitFor();
  await other.getByRole('log').getByText('What color?').waitFor();
  // The first page sees that the other one has written, and follows its next run.
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByRole('log').getByText('Green.').waitFor();
  await other.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await send(other, 'More?');
  await other.getByRole('log').getByText('Three').waitFor();
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByRole('log').getByText('Three').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  second.open();
  await page.getByRole('log').getByText('Three more.').waitFor();
});

test('a session that was deleted elsewhere is shown as empty, and a message creates it again', async () => {
  const { page, sessionService, errors } = await open(['Hello.', 'Hello again.']);
  await send(page, 'Hello?');
  const log = page.getByRole('log');
  await log.getByText('Hello.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await sessionService.deleteSession(KEY);
  await page.getByText('Talk to helper').waitFor();
  await send(page, 'Hello?');
  await log.getByText('Hello again.').waitFor();
  expect(errors).toEqual([]);
});

test('an address whose session the server refuses shows the reason, and offers no messages', async () => {
  const { page, url } = await open([]);
  for (const address of [
    url.replace('session=first', `session=${'x'.repeat(300)}`),
    url.replace('user=ann', 'user=..%2Fann'),
  ]) {
    await page.goto(address);
    await page.getByRole('log').getByRole('alert').waitFor();
    expect(await page.getByText('Talk to helper').count()).toBe(0);
  }
});

test('a message that the server refuses stays with its error while the page looks for changes', async () => {
  const { page } = await open([], { limits: { maxBodyBytes: 1000 } });
  await send(page, 'word '.repeat(300));
  const alert = page.getByRole('alert');
  await alert.waitFor();
  const isLook = (response: { url(): string }): boolean => response.url().endsWith('&limit=1&ifExists=true');
  await page.waitForResponse(isLook);
  // What the first answer changed is shown when the page looks again.
  await page.waitForResponse(isLook);
  expect(await alert.count()).toBe(1);
  expect(await page.getByRole('log').getByRole('article').count()).toBe(1);
});

test('a run that works before its first event is not called queued', async () => {
  const gate = new Gate();
  const { page, errors } = await open([{ gate, calls: [{ name: 'look' }] }, 'Blue.'], { tools: [look] });
  const isState = (response: { url(): string }): boolean => response.url().endsWith('?ifExists=true');
  const answered = page.waitForResponse(isState);
  await send(page, 'What color?');
  await (await answered).finished();
  // The page shows what the answer said.
  for (let frame = 0; frame < 5; frame++)
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(undefined))));
  expect(await page.getByRole('status').first().textContent()).toBe('running');
  gate.open();
  await page.getByRole('log').getByText('Blue.').waitFor();
  expect(errors).toEqual([]);
});

test('an earlier moment has its active agent, its request and the versions of its artifacts', async () => {
  const { page, errors } = await open(
    [{ calls: [{ name: 'save' }] }, { calls: [{ name: 'save' }] }, { calls: [{ name: 'pay' }] }, { text: 'Paid.' }],
    { tools: [save, pay] },
  );
  await send(page, 'Save twice and pay');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  const log = page.getByRole('log');
  await log.getByText('Paid.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  const slider = page.getByRole('slider');
  const versions = (): Promise<string[]> => page.getByLabel('Version').locator('option').allTextContents();
  await page.getByRole('tab', { name: 'Artifacts' }).click();
  await expect.poll(versions).toEqual(['0', '1']);
  await page.getByRole('link', { name: 'Save note.txt' }).waitFor();
  // The chat shows each version below the call that saved it, and opens it.
  await expect
    .poll(() => log.locator('.saved').allInnerTexts())
    .toEqual(['note.txt\nsaved, version 0', 'note.txt\nsaved, version 1']);
  await page.getByRole('tab', { name: 'Events' }).click();
  await log.getByRole('button', { name: 'note.txt saved, version 0' }).click();
  await expect.poll(() => page.getByLabel('Version').inputValue()).toBe('0');
  await page.getByText('there').waitFor();
  await log.getByRole('button', { name: 'note.txt saved, version 1' }).click();
  await expect.poll(() => page.getByLabel('Version').inputValue()).toBe('1');
  // The question, the call, and its result with the first version.
  await slider.press('Home');
  await page.getByText('No artifacts at this moment.').waitFor();
  await slider.press('ArrowRight');
  await slider.press('ArrowRight');
  await expect.poll(versions).toEqual(['0']);
  await page.getByText('there').waitFor();
  await page.getByRole('tab', { name: 'Agents' }).click();
  await page.locator('.agent[data-active=true]').getByText('helper').waitFor();
  for (let event = 3; event < 8; event++) await slider.press('ArrowRight');
  const approve = log.getByRole('button', { name: 'Approve', exact: true });
  await approve.waitFor();
  await expect.poll(() => approve.isDisabled()).toBe(true);
  await expect.poll(() => page.locator('.agent[data-active=true]').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await keepPicture(page, 'earlier-request');
  expect(errors).toEqual([]);
});

test('events are found by their whole text, with their time and type, and rewound events are marked', async () => {
  const long = `${'long '.repeat(200)}needle`;
  const { page, errors } = await open([{ calls: [{ name: 'look' }] }, { text: long }, { text: 'Again.' }], {
    tools: [look],
  });
  await send(page, 'What color?');
  await page.getByRole('log').getByText('needle').waitFor();
  const rows = page.getByRole('group', { name: 'Events' }).getByRole('button');
  await expect
    .poll(() => page.locator('.event-type').allTextContents())
    .toEqual(['message', 'call', 'result', 'message']);
  expect(await rows.first().locator('time').textContent()).toMatch(/^\d+:\d\d:\d\d\.\d{3} [AP]M$/);
  await page.getByLabel('Search events').fill('NEEDLE');
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByLabel('Search events').fill('nowhere');
  await page.getByText('No event has “nowhere”.').waitFor();
  await page.getByLabel('Search events').fill('');
  await page.getByLabel('Kind of events').selectOption('errors');
  await page.getByText('No event of the kind “Errors”.').waitFor();
  await page.getByLabel('Kind of events').selectOption('all');
  // A later event can be chosen at an earlier moment.
  await rows.first().click();
  await page.getByRole('button', { name: 'Show this moment' }).click();
  await page.getByText('1 of 4').waitFor();
  await rows.nth(3).click();
  await page.getByText('Event 4', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Back to now' }).click();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Edited message' }).fill('second try');
  await page.getByRole('button', { name: 'Send instead' }).click();
  await page.getByRole('log').getByText('Again.').waitFor();
  await expect.poll(() => page.locator('[data-undone=true]').count()).toBe(4);
  await page.getByRole('list', { name: 'Sessions' }).getByText('second try').waitFor();
  expect(errors).toEqual([]);
});

test('events that only record the progress of a run can be left out of the list', async () => {
  const { page } = await open(['Blue.'], { isResumable: true });
  await send(page, 'What color?');
  const types = () => page.locator('.event-type').allTextContents();
  await expect.poll(async () => (await types()).at(-1)).toBe('end');
  await page.getByLabel('Kind of events').selectOption('without progress');
  await expect.poll(types).toEqual(['message', 'message']);
});

test('the list of events says that the person interrupted the agent, and where a turn ended', async () => {
  const call = { invocationId: 'e-call', author: 'helper' };
  const { page } = await open([], {
    fill: async (service) => {
      const session = await service.createSession(KEY);
      for (const ended of [{ interrupted: true }, { turnComplete: true }])
        await service.appendEvent({ session, event: createEvent({ ...call, ...ended }) });
    },
  });
  await expect
    .poll(() => page.locator('.event-summary').allTextContents())
    .toEqual(['interrupted by the person', 'end of the turn']);
});

test('a person signs in with a token that only the server can read, and sees their own sessions', async () => {
  let accepted = 'k-17';
  const { page, sessionService, errors } = await open(['Hello, Bob.'], {
    authenticate: ({ headers }) =>
      headers.get('authorization') === `Bearer ${accepted}` ? { userId: 'bob' } : undefined,
  });
  const token = page.getByRole('textbox', { name: /^Token/ });
  await token.fill('k-16');
  await token.press('Enter');
  await page.getByRole('alert').getByText('does not accept this token').waitFor();
  await keepPicture(page, 'sign-in');
  await token.fill('k-17');
  await token.press('Enter');
  await send(page, 'Hello');
  await page.getByRole('log').getByText('Hello, Bob.').waitFor();
  const user = page.getByLabel('User', { exact: true });
  await expect.poll(async () => [await user.inputValue(), await user.isEditable()]).toEqual(['bob', false]);
  // The address that was opened names another user.
  expect((await sessionService.listSessions({ appName: 'app', userId: 'bob' })).sessions).toHaveLength(1);
  expect(new URL(page.url()).searchParams.get('user')).toBe('bob');
  // The token expires while the person writes.
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('a draft');
  accepted = 'k-18';
  const dialog = page.getByRole('dialog', { name: 'Sign in again' });
  await dialog.waitFor();
  expect(await dialog.getByRole('alert').count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await keepPicture(page, 'sign-in-again');
  await token.fill('eyJhbGci…abc');
  await token.press('Enter');
  await page.getByRole('alert').getByText('It may have been shortened').waitFor();
  await token.fill('k-18');
  await token.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('log').getByText('Hello, Bob.').waitFor();
  expect(await message.inputValue()).toBe('a draft');
  expect(errors.filter((error) => !error.includes('401'))).toEqual([]);
});

test('the page works where the browser has no functions of secure origins', async () => {
  const { page, url, errors } = await open([]);
  await page.addInitScript(`
    Object.defineProperty(Crypto.prototype, 'randomUUID', { value: undefined });
    delete Navigator.prototype.clipboard;
    delete Navigator.prototype.mediaDevices;`);
  await page.goto(new URL('.', url).href);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  expect(new URL(page.url()).searchParams.get('session')).toMatch(/^[\da-f]{8}$/);
  expect(errors).toEqual([]);
});

test('a message leads to its event and to the trace of its run', async () => {
  const { page, errors } = await open(['Blue.', 'Green.'], { hasSpans: true });
  const log = page.getByRole('log');
  await send(page, 'What color?');
  await log.getByText('Blue.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await send(page, 'And now?');
  await log.getByText('Green.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await page.getByRole('tab', { name: 'State' }).click();
  const first = log.getByRole('article').filter({ hasText: 'Blue.' });
  await first.getByRole('button', { name: 'Event', exact: true }).click();
  await page.getByRole('tab', { name: 'Events', selected: true }).waitFor();
  await page.getByText('Event 2', { exact: true }).waitFor();
  await first.getByRole('button', { name: 'Trace', exact: true }).click();
  await page.getByRole('tab', { name: 'Trace', selected: true }).waitFor();
  const run = page.getByRole('combobox', { name: 'Run' }).locator('option:checked');
  await expect.poll(() => run.textContent()).toBe('1: What color?');
  expect(errors).toEqual([]);
});

test('a change of the state from outside is no run: the agents and the trace show the run before it', async () => {
  const { page, url, errors } = await open([{ calls: [{ name: 'look' }] }, 'Blue.'], { tools: [look] });
  await send(page, 'What color?');
  await page.getByRole('log').getByText('Blue.').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  const session = new URL('/apps/app/users/ann/sessions/first', url);
  await fetch(session, { method: 'PATCH', body: JSON.stringify({ stateDelta: { plan: 'gold' } }) });
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByText('5 of 5').waitFor();
  await page.getByRole('tab', { name: 'Trace' }).click();
  await expect.poll(() => page.locator('.trace select option').allTextContents()).toEqual(['1: What color?']);
  await page.getByRole('tab', { name: 'Agents' }).click();
  await page.locator('[data-seen=true]').getByText('helper').waitFor();
  expect(errors).toEqual([]);
});

test('the list of events follows the newest one until the reader scrolls up, and shows the moment of the slider', async () => {
  const { page } = await open(['Blue.', 'Green.'], {
    fill: async (service) => {
      const session = await service.createSession(KEY);
      for (let index = 0; index < 100; index++)
        await service.appendEvent({ session, event: modelEvent('helper', `note ${index}`) });
    },
  });
  const list = page.getByRole('group', { name: 'Events' });
  await list.getByText('note 99').waitFor();
  await send(page, 'What color?');
  await list.getByText('Blue.').waitFor();
  await page.evaluate(`document.querySelector('.event-list').scrollTop = 0`);
  await list.getByText('note 0').waitFor();
  await send(page, 'And now?');
  await page.getByText('104 of 104').waitFor();
  expect(await list.getByText('Green.').count()).toBe(0);
  await list.getByText('note 0').waitFor();
  await page.getByRole('slider').press('ArrowLeft');
  await list.getByText('And now?').waitFor();
  await page.getByRole('slider').press('Home');
  await list.getByText('note 0').waitFor();
});

test('the inspector gets wider by keys and by dragging, and the browser keeps its width', async () => {
  const { page } = await open([]);
  const handle = page.getByRole('separator', { name: 'Width of the inspector' });
  const width = async (): Promise<number> => (await page.locator('.inspector').boundingBox())?.width ?? 0;
  const before = await width();
  await handle.press('ArrowLeft');
  await handle.press('ArrowLeft');
  await expect.poll(width).toBe(before + 80);
  const box = (await handle.boundingBox()) ?? { x: 0, y: 0 };
  await page.mouse.move(box.x + 4, 300);
  await page.mouse.down();
  await page.mouse.move(box.x - 96, 300);
  await page.mouse.up();
  await expect.poll(width).toBeGreaterThan(before + 170);
  const dragged = await width();
  expect(dragged).toBeLessThan(before + 190);
  await page.reload();
  await expect.poll(width).toBe(dragged);
});

test('an agent that is called as a tool is highlighted while it works, and stays marked', async () => {
  const gate = new Gate();
  const checker = new LlmAgent({ name: 'checker', model: new ScriptedModel([{ gate, text: 'Checked.' }]) });
  const model = new ScriptedModel([{ calls: [{ name: 'checker', args: { request: 'it' } }] }, 'Done.']);
  const agent = new LlmAgent({ name: 'helper', model, tools: [new AgentTool({ agent: checker })] });
  const { page, errors } = await open([], { agent });
  await page.getByRole('tab', { name: 'Agents' }).click();
  await send(page, 'Check it');
  await gate.reached;
  await expect.poll(() => page.locator('.agent[data-active=true] b').allTextContents()).toEqual(['helper', 'checker']);
  await expect.poll(() => page.locator('.agent[data-seen=true] b').allTextContents()).toEqual(['helper', 'checker']);
  gate.open();
  await page.getByRole('log').getByText('Done.').waitFor();
  await expect.poll(() => page.locator('.agent[data-active=true]').count()).toBe(0);
  await expect.poll(() => page.locator('.agent[data-seen=true] b').allTextContents()).toEqual(['helper', 'checker']);
  expect(errors).toEqual([]);
});

test('an agent that an agent inside a tool calls is highlighted by the spans of the server', async () => {
  const gate = new Gate();
  const reader = new LlmAgent({ name: 'reader', model: new ScriptedModel([{ gate, text: 'Read.' }]) });
  const calling = (name: string) => new ScriptedModel([{ calls: [{ name, args: { request: 'it' } }] }, 'Done.']);
  const checker = new LlmAgent({
    name: 'checker',
    model: calling('reader'),
    tools: [new AgentTool({ agent: reader })],
  });
  const agent = new LlmAgent({ name: 'helper', model: calling('checker'), tools: [new AgentTool({ agent: checker })] });
  const { page, errors } = await open([], { agent, hasSpans: true });
  await page.getByRole('tab', { name: 'Agents' }).click();
  await send(page, 'Check it');
  await gate.reached;
  const active = page.locator('.agent[data-active=true] b');
  await expect.poll(() => active.allTextContents()).toEqual(['helper', 'checker', 'reader']);
  await page.locator('.agent-now').getByText('helper, checker, reader').waitFor();
  gate.open();
  // What the agents inside the tool said is not in the conversation.
  await page.getByRole('article').getByText('Done.', { exact: true }).waitFor();
  await expect.poll(() => active.count()).toBe(0);
  expect(errors).toEqual([]);
});

test('the state shows the value before a change, also of a key that the session began with, and is changed by the person', async () => {
  const { page, errors } = await open([{ calls: [{ name: 'look' }] }, 'Blue.'], {
    tools: [look],
    fill: (service) => service.createSession({ ...KEY, state: { seen: 'sea' } }),
  });
  await send(page, 'What color?');
  await page.getByRole('log').getByText('Blue.').waitFor();
  await page.getByRole('tab', { name: 'State' }).click();
  const changes = page.locator('.changes');
  await changes.locator('.before').getByText('"sea"').waitFor();
  await changes.getByRole('button', { name: 'event 3' }).click();
  await page.getByRole('region', { name: 'Event', exact: true }).getByText('Event 3').waitFor();
  await page.getByRole('tab', { name: 'State' }).click();
  await page.getByText('Set a value').click();
  await page.getByLabel('Key').fill('temp:name');
  await page.getByLabel('Value').fill('1');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await page.getByText('lives only as long as a run').waitFor();
  await page.getByLabel('Key').fill('user:name');
  await page.getByLabel('Value').fill('Ann');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await page.getByText('Put a text into quotes, such as "Ann".').waitFor();
  await page.getByLabel('Value').fill('"Ann"');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await changes.locator('.after').getByText('"Ann"').waitFor();
  await page.locator('.state dl').getByText('"Ann"').waitFor();
  expect(errors).toEqual([]);
});

test('all agents that work are highlighted, and after a stop each keeps its text', async () => {
  const gate = new Gate();
  const agents = ['left', 'right'].map(
    (name) => new LlmAgent({ name, model: new ScriptedModel([{ chunks: [`${name} speaks`, gate] }]) }),
  );
  const { page, errors } = await open([], { agent: new ParallelAgent({ name: 'both', subAgents: agents }) });
  await page.getByRole('tab', { name: 'Agents' }).click();
  await send(page, 'Go');
  await expect.poll(() => page.locator('.agent[data-active=true] b').allTextContents()).toEqual(['left', 'right']);
  await page.getByText('left, right', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  const log = page.getByRole('log');
  await expect.poll(() => log.getByText('Stopped', { exact: true }).count()).toBe(2);
  await page.reload();
  await expect.poll(() => log.getByText('Stopped', { exact: true }).count()).toBe(2);
  await log.getByText('left speaks').waitFor();
  await log.getByText('right speaks').waitFor();
  expect(await log.getByText('interrupted').count()).toBe(0);
  expect(errors).toEqual([]);
});

test('the colors of the page are those of the system until the person chooses others', async () => {
  const { page, errors } = await open([], { colorScheme: 'dark' });
  const background = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const dark = await background();
  await page.getByRole('button', { name: 'Colors: system' }).click();
  await page.getByRole('button', { name: 'Colors: light' }).waitFor();
  const light = await background();
  expect(light).not.toBe(dark);
  await page.reload();
  await page.getByRole('button', { name: 'Colors: light' }).click();
  await page.getByRole('button', { name: 'Colors: dark' }).waitFor();
  expect(await background()).toBe(dark);
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await background()).toBe(dark);
  await page.getByRole('button', { name: 'Colors: dark' }).click();
  await page.getByRole('button', { name: 'Colors: system' }).waitFor();
  expect(await background()).toBe(light);
  expect(errors).toEqual([]);
});

test('a thought and a call that were opened stay open when the run ends', async () => {
  const gate = new Gate();
  const thought = [{ text: 'It may be blue.', thought: true }];
  const { page, errors } = await open(
    [{ chunks: [thought, [{ functionCall: { name: 'look' } }]] }, { chunks: ['The sky ', gate, 'is blue.'] }],
    { tools: [look] },
  );
  await send(page, 'What color?');
  const log = page.getByRole('log');
  await log.getByText('The sky').waitFor();
  await log.locator('details.thought summary').click();
  await log.locator('details.call summary').click();
  await log.getByText('"color": "blue"').waitFor();
  gate.open();
  await log.getByText('The sky is blue.').waitFor();
  await page.getByText('4 of 4').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  // The page has read the session after the run.
  await expect
    .poll(() =>
      page.evaluate(
        "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('first?ifExists=true')).length",
      ),
    )
    .toBe(2);
  expect(await log.locator('details[open]').count()).toBe(2);
  await log.getByText('It may be blue.').waitFor();
  await log.getByText('"color": "blue"').waitFor();
  expect(errors).toEqual([]);
});

test('a folded call shows the beginning of its arguments, and when it is opened, its JSON in colors; earlier calls are unfolded', async () => {
  const { page } = await open([{ calls: [{ name: 'look', args: { where: 'sky', far: true } }] }, 'Blue.'], {
    tools: [look],
    fill: async (service) => {
      const session = await service.createSession(KEY);
      for (let index = 0; index < 9; index++)
        for (const part of [
          { functionCall: { id: `c${index}`, name: 'look', args: { index } } },
          { functionResponse: { id: `c${index}`, name: 'look', response: {} } },
        ]) {
          const content = { role: 'functionCall' in part ? 'model' : 'user', parts: [part] };
          await service.appendEvent({ session, event: createEvent({ invocationId: 'i', author: 'helper', content }) });
        }
    },
  });
  await send(page, 'What color?');
  const call = page.getByRole('log').locator('details.call').last();
  await call.getByText('where: "sky", far: true').waitFor();
  expect(await call.locator('pre').count()).toBe(0);
  await call.locator('summary').click();
  await call.getByText('"color": "blue"').waitFor();
  const texts = (kind: string): Promise<string[]> => call.locator(`.json-${kind}`).allTextContents();
  expect(await texts('key')).toEqual(['"where"', '"far"', '"color"']);
  expect(await texts('text')).toEqual(['"sky"', '"blue"']);
  expect(await texts('value')).toEqual(['true']);
  await page.getByRole('button', { name: 'Show 6 more calls' }).press('Enter');
  // The first unfolded call has the focus.
  await expect
    .poll(() => page.locator('summary:focus').allTextContents())
    .toEqual([expect.stringContaining('index: 1')]);
  expect(await page.getByRole('log').locator('details.call').count()).toBe(10);
});
