import { Gate } from '@eventloom/testing';
import type { Event } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { startOnNode, startOnWrangler, useScenarios } from './scenario-servers.ts';
import { keepPicture, send, violations } from './studio-page.ts';

/** The part of a stored session that is read here. */
interface StoredSession {
  readonly id: string;
  readonly events: readonly Event[];
}

const TABS = ['Events', 'State', 'Artifacts', 'Agents', 'Trace', 'Runs'];

// The same scenarios, with the same browser, on each kind of server.
describe.each([
  ['Node', startOnNode],
  ['wrangler dev', startOnWrangler],
] as const)('Studio on %s', (target, start) => {
  const { open, visit, models, restart, kill } = useScenarios(start);
  const pictures = target.replaceAll(' ', '-').toLowerCase();

  test('streams a reply, folds tool calls, and follows the run after a reload during an answer', async () => {
    const gate = new Gate();
    const { page, errors } = await open([{ calls: [{ name: 'look' }] }, { chunks: ['The sky ', gate, 'is blue.'] }]);
    await send(page, 'What color is it?');
    const log = page.getByRole('log');
    await log.getByText('The sky').waitFor();
    await log.getByText('completed').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.reload();
    await log.getByText('What color is it?').waitFor();
    gate.open();
    await log.getByText('The sky is blue.').waitFor();
    await expect.poll(() => log.getByText('The sky is blue.').count()).toBe(1);
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(errors).toEqual([]);
  });

  test('keeps the text that came before the person stopped the answer', async () => {
    const { page, errors } = await open([{ chunks: ['The sky ', new Gate()] }, 'Blue.']);
    const log = page.getByRole('log');
    await send(page, 'What color is it?');
    await log.getByText('The sky').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await log.getByText('Stopped', { exact: true }).waitFor();
    await expect.poll(() => page.locator('.event-type').allTextContents()).toEqual(['message', 'stopped', 'end']);
    await page.reload();
    await log.getByText('The sky').waitFor();
    await log.getByText('Stopped', { exact: true }).waitFor();
    await send(page, 'Go on');
    await log.getByText('Blue.').waitFor();
    expect(errors).toEqual([]);
  });

  test('asks for an approval, a credential and an input, and continues with the answers', async () => {
    const { page, errors } = await open([
      { calls: [{ name: 'pay' }] },
      'Paid.',
      { calls: [{ name: 'login' }] },
      'Logged in.',
      { calls: [{ name: 'ask' }] },
      'Ordered.',
    ]);
    const log = page.getByRole('log');
    await send(page, 'Pay');
    await page.getByText('waits for your answer').waitFor();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('waits for your answer').waitFor({ state: 'detached' });
    await log.getByText('Paid.').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();

    await send(page, 'Log in');
    const credential = page.getByRole('group', { name: /needs a credential for login$/ });
    await credential.getByLabel('API key').fill('secret-1');
    await credential.getByRole('button', { name: 'Send' }).click();
    await log.getByText('Logged in.').waitFor();
    await log.getByText('login', { exact: true }).click();
    await page.getByText('"length": 8').waitFor();
    await credential.waitFor({ state: 'detached' });

    await send(page, 'Ask me');
    const form = page.getByRole('group', { name: /needs an input for ask$/ });
    await form.getByText('Which size?').waitFor();
    await form.getByLabel('size').selectOption('large');
    await form.getByLabel('count').fill('3');
    await form.getByRole('button', { name: 'Send' }).click();
    await log.getByText('Ordered.').waitFor();
    await log.getByText('ask', { exact: true }).click();
    await page.getByText('"size": "large"').last().waitFor();
    await page.getByText('"count": 3').last().waitFor();
    expect(errors).toEqual([]);
  });

  test('lists the runs of all sessions that wait for an answer, to answer or to close them', async () => {
    const { page, url, errors } = await open([
      { calls: [{ name: 'pay' }] },
      { calls: [{ name: 'ask' }, { name: 'login' }] },
      'Paid.',
    ]);
    const log = page.getByRole('log');
    await send(page, 'Pay');
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    const { page: second } = await visit(url.replace('session=first', 'session=second'));
    await send(second, 'Ask me');
    await second.getByRole('group', { name: /needs an input for ask$/ }).waitFor();
    const { page: other } = await visit(url.replace('session=first', 'session=third'));
    await other.getByRole('tab', { name: 'Runs' }).click();
    const runs = other.locator('.open-run');
    await runs
      .filter({ hasText: /^Pay/ })
      .getByText(/^has waited .* for an approval of pay$/)
      .waitFor();
    const asking = runs.filter({ hasText: /^Ask me/ });
    await asking.getByText(/^has waited .* for a credential for login and an input for ask$/).waitFor();
    await asking.getByText('Which size?').waitFor();
    expect(await violations(other)).toEqual([]);
    await keepPicture(other, `${pictures}-waiting-runs`);
    await asking.getByRole('button', { name: 'Close' }).press('Enter');
    // The focus is on Keep it.
    await other.keyboard.press('Enter');
    await asking.getByRole('button', { name: 'Close', exact: true }).press('Enter');
    await asking.getByRole('button', { name: 'Close it' }).click();
    await expect.poll(() => runs.count()).toBe(1);
    // A page that shows the session sees that the run was closed.
    await second.getByRole('group', { name: /needs an input for ask$/ }).waitFor({ state: 'detached' });
    await runs.getByRole('button', { name: 'Answer' }).click();
    await other.getByRole('button', { name: 'Approve', exact: true }).click();
    await other.getByRole('log').getByText('Paid.').waitFor();
    await log.getByText('Paid.').waitFor();
    await other.getByText('No run waits for an answer in any session of this user.').waitFor();
    expect(errors).toEqual([]);
  });

  test('shows an earlier moment, forks the session there, and rewinds it for an edited message', async () => {
    const { page, read, errors } = await open([{ calls: [{ name: 'look' }] }, 'Blue.', 'Green.']);
    const log = page.getByRole('log');
    await send(page, 'What color?');
    await log.getByText('Blue.').waitFor();
    await page.getByRole('tab', { name: 'State' }).click();
    await page.getByText('seen').first().waitFor();
    await page.getByRole('slider').press('Home');
    await log.getByText('Blue.').waitFor({ state: 'detached' });
    await page.getByText('seen').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Fork here' }).click();
    await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
    await log.getByText('What color?').waitFor();
    await log.getByText('Blue.').waitFor({ state: 'detached' });
    expect(await read<StoredSession[]>()).toHaveLength(2);
    await page.goBack();
    await log.getByText('Blue.').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('textbox', { name: 'Edited message' }).fill('And the grass?');
    await page.getByRole('button', { name: 'Send instead' }).click();
    await log.getByText('Green.').waitFor();
    await log.getByText('Blue.').waitFor({ state: 'detached' });
    const { events } = await read<StoredSession>('first');
    expect(events.some(({ actions }) => actions.rewindBeforeInvocationId)).toBe(true);
    expect(errors).toEqual([]);
  });

  test('shows the same session in two tabs', async () => {
    const gate = new Gate();
    const { page, url } = await open([{ chunks: ['The sky ', gate, 'is blue.'] }]);
    // This tab is opened before the session exists.
    const { page: first } = await visit(url);
    await send(page, 'What color?');
    await page.getByRole('log').getByText('The sky').waitFor();
    const { page: other } = await visit(url);
    for (const each of [first, other]) {
      await each.getByRole('log').getByText('The sky').waitFor();
      await each.getByRole('button', { name: 'Stop' }).waitFor();
    }
    gate.open();
    for (const each of [page, first, other]) await each.getByRole('log').getByText('The sky is blue.').waitFor();
  });

  test('previews the versions of an artifact, and shows their difference', async () => {
    const { page } = await open([
      { calls: [{ name: 'save' }] },
      'Saved.',
      { calls: [{ name: 'save' }] },
      'Saved again.',
    ]);
    await send(page, 'Save');
    await page.getByRole('log').getByText('Saved.').waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await page.getByRole('tab', { name: 'Artifacts' }).click();
    await page.getByRole('tabpanel').getByText('there').waitFor();
    await send(page, 'Save it again');
    await page.getByRole('log').getByText('Saved again.').waitFor();
    await page.getByLabel('Compare with').selectOption('0');
    const lines = (): Promise<string[]> => page.locator('.diff').locator('del, ins, span').allTextContents();
    await expect.poll(async () => (await lines()).toSorted()).toEqual(['  hello\n', '+ again\n', '- there\n']);
  });

  test('highlights the active node of a graph and the path that was taken', async () => {
    const { page, errors } = await open([], { app: 'ways' });
    await page.getByRole('tab', { name: 'Agents' }).click();
    await page.locator('[data-node=left][data-state=idle]').waitFor();
    await send(page, 'left');
    await page.locator('[data-node=left][data-state=active]').waitFor();
    models.gate.open();
    await page.locator('[data-node=left][data-state=done]').waitFor();
    await page.locator('[data-node=right][data-state=idle]').waitFor();
    // The edges start, choose, left, end.
    await expect.poll(() => page.locator('path[data-taken=true]').count()).toBe(3);
    expect(errors).toEqual([]);
  });

  test("sends the microphone's audio, plays and transcribes both sides, and stops interrupted speech", async () => {
    const { page, errors } = await open([], { app: 'voice', permissions: ['microphone'] });
    await page.getByRole('button', { name: 'Speak', exact: true }).click();
    const log = page.getByRole('log');
    await log.getByText('What color?').waitFor();
    await log.getByText('The sky is blue.').waitFor();
    const levels = () =>
      page.evaluate<[number, number]>(`[...document.querySelectorAll('meter')].map(({ value }) => value)`);
    // The fake microphone of the browser plays a tone at intervals.
    await expect.poll(async () => (await levels())[0]).toBeGreaterThan(0);
    await expect.poll(async () => (await levels())[1]).toBeGreaterThan(0);
    expect(await page.locator('.agent-now').getAttribute('data-running')).toBe('true');
    await keepPicture(page, `voice-${pictures}`);
    await page.setViewportSize({ width: 390, height: 780 });
    const topOf = async (name: string) => (await page.getByRole('button', { name, exact: true }).boundingBox())?.y;
    expect(await topOf('Mute')).toBe(await topOf('End call'));
    await page.setViewportSize({ width: 1440, height: 900 });
    models.gate.open();
    await expect.poll(async () => (await levels())[1]).toBe(0);
    await page.getByRole('button', { name: 'End call' }).click();
    await page.getByRole('button', { name: 'Speak', exact: true }).waitFor();
    await page.reload();
    await log.getByText('The sky is blue.').waitFor();
    await expect.poll(() => log.getByText('The sky is blue.').count()).toBe(1);
    await page.getByRole('list', { name: 'Sessions' }).getByText('What color?').waitFor();
    await page.getByLabel('Search events').fill('sky is blue');
    await expect.poll(() => page.locator('.event-type').allTextContents()).toEqual(['speech']);
    await page.getByLabel('Kind of events').selectOption('text');
    await expect.poll(() => page.locator('.event-summary').allTextContents()).toEqual(['The sky is blue.']);
    // The session exists now.
    await page.getByRole('button', { name: 'Speak', exact: true }).click();
    await page.getByText('Speak now').waitFor();
    await page.getByRole('button', { name: 'End call' }).click();
    await page.getByRole('button', { name: 'Speak', exact: true }).waitFor();
    expect(errors).toEqual([]);
  });

  test('opens no microphone for a call that is ended or left while it connects', async () => {
    const { page, errors } = await open([], { app: 'voice', permissions: ['microphone'] });
    let sockets = 0;
    page.on('websocket', () => sockets++);
    await page.evaluate(
      `navigator.mediaDevices.getUserMedia = () => { throw new Error('the microphone was opened'); }`,
    );
    let asked = Promise.withResolvers<void>();
    let released = Promise.withResolvers<void>();
    released.resolve();
    await page.route('**/sessions/**', async (route) => {
      asked.resolve();
      await released.promise;
      await route.continue();
    });
    for (const leave of ['End call', 'New']) {
      asked = Promise.withResolvers();
      released = Promise.withResolvers();
      await page.getByRole('button', { name: 'Speak', exact: true }).click();
      await asked.promise;
      await page.getByRole('button', { name: leave, exact: true }).click();
      await page.getByRole('button', { name: 'Speak', exact: true }).waitFor();
      released.resolve();
      // The page has the answers, and has done what it does with them.
      await page.evaluate(
        `fetch('/list-apps').then((answer) => answer.text()).then(() => new Promise(requestAnimationFrame))`,
      );
    }
    expect(sockets).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(errors).toEqual([]);
  });

  test('draws few of 10,000 events at a time', async () => {
    const base = { author: 'helper', actions: { stateDelta: {}, artifactDelta: {} } };
    const events = Array.from({ length: 10_000 }, (_, index) => {
      const call = { id: `c${index >> 1}`, name: 'look' };
      const part =
        index % 2 === 0
          ? { functionCall: { ...call, args: { index } } }
          : { functionResponse: { ...call, response: { index } } };
      const content = { role: index % 2 === 0 ? 'model' : 'user', parts: [part] };
      return { ...base, id: `x${index}`, invocationId: `e-${index >> 5}`, timestamp: 1_700_000_000 + index, content };
    });
    const { page } = await open([], {
      fill: async (url) => {
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ sessionId: 'first', events });
        expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200);
      },
    });
    await page.getByText('10000 of 10000').waitFor();
    const frames = await page.evaluate<number[]>(`(async () => {
      const frames = [];
      let last = performance.now();
      for (const box of [document.querySelector('.event-list'), document.querySelector('.messages')])
        for (let step = 0; step < 60; step++) {
          box.scrollTop = (box.scrollHeight / 60) * step;
          const now = await new Promise(requestAnimationFrame);
          frames.push(now - last);
          last = now;
        }
      return frames.sort((a, b) => a - b);
    })()`);
    console.log(`${target}: 10,000 events are scrolled with a median frame of ${frames[60]?.toFixed(1)} ms`);
    const drawn = () => page.getByRole('group', { name: 'Events' }).locator('li').count();
    await expect.poll(drawn).toBeLessThan(60);
    expect(await drawn()).toBeGreaterThan(5);
    await expect.poll(() => page.getByRole('log').locator('article').count()).toBeLessThan(210);
    await page.getByRole('slider').press('Home');
    await page.getByText('1 of 10000').waitFor();
  });

  test('has no violation of accessibility rules', async () => {
    const { page } = await open([{ calls: [{ name: 'look' }, { name: 'pay' }] }, '**Blue.**']);
    expect(await violations(page)).toEqual([]);
    await send(page, 'What color?');
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    for (const name of TABS) {
      await page.getByRole('tab', { name }).click();
      expect(await violations(page), name).toEqual([]);
      await keepPicture(page, `${pictures}-${name.toLowerCase()}`);
    }
  });

  test('waits for a server that is killed during an answer, and the restarted one continues the run', async () => {
    const { page, url } = await open([
      { calls: [{ name: 'look' }] },
      { chunks: ['The sky ', new Gate()] },
      // A resumed run has the result of the tool.
      { chunks: ['The sky ', 'is blue.'] },
    ]);
    const log = page.getByRole('log');
    await send(page, 'What color?');
    await log.getByText('The sky').waitFor();
    await log.getByText('completed').waitFor();
    await page.getByRole('tab', { name: 'Runs' }).click();
    const { page: graph } = await visit(url.replace('app=app', 'app=ways'));
    await graph.getByRole('tab', { name: 'Agents' }).click();
    await send(graph, 'left');
    await graph.locator('[data-node="left"][data-state="active"]').waitFor();
    // The spans of the server tell that the node works, also before the answer to the message has arrived.
    await graph.locator('.message.user[data-status="complete"]').waitFor();
    await kill();
    await page.getByRole('status').getByText('reconnecting').waitFor();
    const tabs = [page, graph].map((each) => each.getByRole('tabpanel'));
    for (const tab of tabs) await tab.getByRole('alert').getByText('The server does not answer.').waitFor();
    expect(await graph.locator('[data-node="left"]').count()).toBe(1);
    await restart('resume');
    models.gate.open();
    await graph.locator('[data-node="left"][data-state="done"]').waitFor();
    await log.getByText('The sky is blue.').waitFor();
    for (const tab of tabs) await tab.getByRole('alert').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await expect.poll(() => log.getByText('The sky').count()).toBe(1);
    // The tool ran once, because its result was stored before the kill.
    await expect.poll(() => log.getByText('look', { exact: true }).count()).toBe(1);
    await expect.poll(() => log.getByText('What color?').count()).toBe(1);
  });

  test('resumes one of the runs that a killed server left unfinished, closes one, and stops one that the person stopped meanwhile', async () => {
    const { page, url, errors } = await open([
      { chunks: ['The sky ', new Gate()] },
      { chunks: ['The sky ', new Gate()] },
      { chunks: ['The sky ', new Gate()] },
      'The sky is blue.',
    ]);
    const { page: second } = await visit(url.replace('session=first', 'session=second'));
    const { page: third } = await visit(url.replace('session=first', 'session=third'));
    for (const each of [page, second, third]) {
      await send(each, 'What color?');
      await each.getByRole('log').getByText('The sky').waitFor();
    }
    await second.close();
    await kill();
    await third.getByRole('status').getByText('reconnecting').waitFor();
    await third.getByRole('button', { name: 'Stop' }).click();
    const notStopped = third.getByRole('log').getByRole('alert').getByText('The run is not stopped yet');
    await notStopped.waitFor();
    await restart('leave');
    await third.getByRole('log').getByText('Stopped', { exact: true }).waitFor();
    await notStopped.waitFor({ state: 'detached' });
    expect(await third.getByRole('log').getByRole('alert').count()).toBe(0);
    const { page: again } = await visit(url.replace('session=first', 'session=second'));
    const unfinished = again.getByRole('region', { name: 'Unfinished run' });
    await unfinished.getByRole('button', { name: 'Take up' }).waitFor();
    expect(await violations(again)).toEqual([]);
    await keepPicture(again, `${pictures}-unfinished`);
    await page.goto(url.replace('session=first', 'session=fourth'));
    await page.getByRole('tab', { name: 'Runs' }).click();
    // Their leases expire, and the page reads the list at intervals.
    await expect.poll(() => page.getByText('unfinished, can be resumed').count()).toBe(2);
    await keepPicture(page, `${pictures}-lost-runs`);
    const runs = page.locator('.open-run');
    await unfinished.getByRole('button', { name: 'Close the run' }).click();
    await again.getByRole('status').getByText('reconnecting').waitFor({ state: 'detached' });
    await expect.poll(() => runs.count()).toBe(1);
    await runs.filter({ hasText: 'first' }).getByRole('button', { name: 'Take up' }).click();
    await page.getByRole('log').getByText('The sky is blue.').waitFor();
    await expect.poll(() => page.getByRole('log').getByText('What color?').count()).toBe(1);
    await page.getByRole('tab', { name: 'Runs' }).click();
    await page.getByText('No run is open in any session of this user.').waitFor();
    // The browser itself reports lost connections.
    expect(errors.filter((error) => !error.startsWith('Failed to load resource'))).toEqual([]);
  });
});
