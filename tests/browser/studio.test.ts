import { functionCallEvent, functionResponseEvent, Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { pageBytes } from './page-bytes.ts';
import { KEY, send, useStudio, violations } from './studio-page.ts';
import { look, pay, save } from './studio-tools.ts';

const { open } = useStudio();
const tools = [look, pay, save];

describe('Studio', () => {
  test('has files of at most 300 kB, compressed', () => {
    expect(pageBytes()).toBeGreaterThan(100_000);
    expect(pageBytes()).toBeLessThanOrEqual(300_000);
  });

  test('streams a reply, folds tool calls, and follows the run after a reload during an answer', async () => {
    const gate = new Gate();
    const { page, errors } = await open([{ calls: [{ name: 'look' }] }, { chunks: ['The sky ', gate, 'is blue.'] }], {
      tools,
    });
    await page.getByRole('button', { name: 'What color is it?' }).click();
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

  test('asks for an approval, and continues with the answer', async () => {
    const { page, errors } = await open([{ calls: [{ name: 'pay' }] }, { text: 'Waiting.' }, { text: 'Paid.' }], {
      tools,
    });
    await send(page, 'Pay');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('log').getByText('completed').waitFor();
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor({ state: 'detached' });
    expect(errors).toEqual([]);
  });

  test('shows an earlier moment, and forks the session there', async () => {
    const { page, sessionService, errors } = await open([{ calls: [{ name: 'look' }] }, { text: 'Blue.' }], { tools });
    await send(page, 'What color?');
    await page.getByRole('log').getByText('Blue.').waitFor();
    await page.getByRole('tab', { name: 'State' }).click();
    await page.getByText('seen').first().waitFor();
    await page.getByRole('slider').press('Home');
    await page.getByRole('log').getByText('Blue.').waitFor({ state: 'detached' });
    await page.getByText('seen').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Fork here' }).click();
    await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
    await page.getByRole('log').getByText('What color?').waitFor();
    await page.getByRole('log').getByText('Blue.').waitFor({ state: 'detached' });
    const { sessions } = await sessionService.listSessions({ appName: 'app', userId: 'ann' });
    expect(sessions).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  test('previews an artifact', async () => {
    const { page } = await open([{ calls: [{ name: 'save' }] }, { text: 'Saved.' }], { tools });
    await send(page, 'Save');
    await page.getByRole('log').getByText('Saved.').waitFor();
    await page.getByRole('tab', { name: 'Artifacts' }).click();
    await page.getByRole('button', { name: 'note.txt' }).click();
    await page.getByText('hello', { exact: false }).waitFor();
  });

  test('sends an edited message after a rewind', async () => {
    const { page, sessionService } = await open([{ text: 'One.' }, { text: 'Two.' }]);
    await send(page, 'first try');
    await page.getByRole('log').getByText('One.').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('textbox', { name: 'Edited message' }).fill('second try');
    await page.getByRole('button', { name: 'Send instead' }).click();
    await page.getByRole('log').getByText('Two.').waitFor();
    await page.getByRole('log').getByText('One.').waitFor({ state: 'detached' });
    expect((await sessionService.getSession(KEY))?.events.some(({ actions }) => actions.rewindBeforeInvocationId)).toBe(
      true,
    );
  });

  test('shows markup of a model as text, and loads no picture of another server', async () => {
    const { page, errors } = await open([
      {
        text: '<img src=x onerror="document.title=1"> ![map](https://example.com/map.png) [go](javascript:alert(1)) **bold**\n\n- [x] done\n\n> quoted',
      },
    ]);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).hostname));
    await send(page, 'Hi');
    await page.getByRole('log').getByText('bold').waitFor();
    expect(await page.getByRole('log').locator('img').count()).toBe(0);
    expect(await page.getByRole('log').locator('a').count()).toBe(0);
    await page.getByRole('log').getByText('go').first().waitFor();
    // A box to check is as wide as its line is high, and not as wide as the message.
    const box = await page.getByRole('log').locator('input[type=checkbox]').boundingBox();
    expect(box?.width).toBeLessThan(40);
    expect(await page.title()).toBe('Eventloom Studio');
    expect(new Set(asked)).toEqual(new Set([new URL(page.url()).hostname]));
    expect(errors).toEqual([]);
  });

  test('draws few of 10,000 events at a time', async () => {
    const { page } = await open([], {
      fill: async (service) => {
        const session = await service.createSession(KEY);
        for (let index = 0; index < 5000; index++) {
          const call = { invocationId: 'e-1', functionCall: { id: `c${index}`, name: 'look', args: { index } } };
          await service.appendEvent({
            session,
            event: functionCallEvent('helper', [call.functionCall], { invocationId: 'e-1' }),
          });
          const response = { id: `c${index}`, name: 'look', response: { index } };
          await service.appendEvent({
            session,
            event: functionResponseEvent('helper', [response], { invocationId: 'e-1' }),
          });
        }
      },
    });
    await page.getByText('10000 of 10000').waitFor();
    expect(await page.getByRole('group', { name: 'Events' }).locator('li').count()).toBeLessThan(60);
    await expect.poll(() => page.getByRole('log').locator('article').count()).toBe(100);
    await page.getByRole('slider').press('Home');
    await page.getByText('1 of 10000').waitFor();
  });

  test.each(['light', 'dark'] as const)('has no violation of accessibility rules, %s', async (colorScheme) => {
    const { page } = await open([{ calls: [{ name: 'look' }, { name: 'pay' }] }, { text: '**Blue.**' }], {
      tools,
      colorScheme,
    });
    expect(await violations(page)).toEqual([]);
    await send(page, 'What color?');
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    for (const name of ['Events', 'State', 'Artifacts', 'Agents', 'Trace']) {
      await page.getByRole('tab', { name }).click();
      expect(await violations(page), name).toEqual([]);
    }
  });
});
