import { readFile } from 'node:fs/promises';
import { functionResponseEvent, Gate, modelEvent, userEvent } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import type { Locator } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { pageBytes } from './page-bytes.ts';
import { graph, workflow } from './studio-graph.ts';
import { keepPicture, KEY, send, useStudio, violations } from './studio-page.ts';
import { look, pay, saveMany } from './studio-tools.ts';

const { open, visit } = useStudio();

describe('the page', () => {
  test('has files of at most 300 kB, compressed', () => {
    expect(pageBytes()).toBeGreaterThan(100_000);
    expect(pageBytes()).toBeLessThanOrEqual(300_000);
  });

  test('shows the newest progress of a running tool, and a long text to approve whole', async () => {
    const gate = new Gate();
    const index = new FunctionTool({
      name: 'index',
      description: 'Builds an index.',
      execute: async function* () {
        yield { percent: 20 };
        yield { percent: 40 };
        await gate.pass();
        return { entries: 7 };
      },
    });
    const reason = 'The parcel arrived damaged, and the customer has sent three pictures of it. '.repeat(4);
    const { page, errors } = await open(
      [{ calls: [{ name: 'index', args: { of: 'pages' } }] }, { calls: [{ name: 'pay', args: { reason } }] }, 'Done.'],
      { tools: [index, pay] },
    );
    await page.setViewportSize({ width: 390, height: 780 });
    await send(page, 'Hi');
    const log = page.getByRole('log');
    await log.getByText('percent: 40').waitFor();
    await keepPicture(page, 'progress');
    gate.open();
    await log.getByText('of: "pages"').waitFor();
    await log.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await keepPicture(page, 'long-approval');
    expect(
      await page.evaluate(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.request pre'))`,
      ),
    ).toBe(0);
    expect(errors).toEqual([]);
  });

  test('shows markup of a model as text, and loads no picture of another server', async () => {
    const { page, errors } = await open(
      [
        {
          text: '<img src=x onerror="document.title=1"> ![map](https://example.com/map.png) [go](javascript:alert(1)) **bold**\n\n- [x] done\n\n---\n\n> quoted\n\n```sql\nSELECT 1;\n```',
        },
      ],
      { permissions: ['clipboard-read', 'clipboard-write'] },
    );
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
    // A line between paragraphs is as wide as the message.
    expect((await page.getByRole('log').locator('hr').boundingBox())?.width).toBeGreaterThan(400);
    const block = page.locator('.code-block', { hasText: 'sql' });
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('SELECT 1;\n');
    expect(await page.title()).toBe('Eventloom Studio');
    expect(new Set(asked)).toEqual(new Set([new URL(page.url()).hostname]));
    expect(errors).toEqual([]);
  });
});

describe('a session', () => {
  test('is exported, and imported as a new one', async () => {
    const { page, sessionService, errors } = await open([{ calls: [{ name: 'look' }] }, { text: 'Blue.' }], {
      tools: [look],
    });
    await send(page, 'What color?');
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await page.getByRole('log').getByText('Blue.').waitFor();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const path = await (await downloading).path();
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ id: 'first', appName: 'app' });
    await page
      .getByLabel('A session to import')
      .setInputFiles({ name: 'bad.json', mimeType: 'application/json', buffer: Buffer.from('{"events": 1}') });
    await page.getByRole('alert').getByText('expected an object with a list "events"').waitFor();
    await page.getByLabel('A session to import').setInputFiles(path);
    await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
    await page.getByRole('log').getByText('Blue.').waitFor();
    await page.getByRole('tab', { name: 'State' }).click();
    await page.getByText('seen').first().waitFor();
    const { sessions } = await sessionService.listSessions({ appName: 'app', userId: 'ann' });
    expect(sessions).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  test('has its many files in view, and an imported copy has them', async () => {
    const { page, errors } = await open([{ calls: [{ name: 'save_many' }] }, 'Saved.'], { tools: [saveMany] });
    await send(page, 'Save');
    const log = page.getByRole('log');
    await log.getByText('Saved.').waitFor();
    await log.getByRole('img', { name: 'ball.svg' }).waitFor();
    await expect.poll(() => log.locator('.saved > li').count()).toBe(6);
    await log.getByRole('button', { name: 'Show all 32 files' }).click();
    await expect.poll(() => log.locator('.saved > li').count()).toBe(32);
    await log.getByRole('button', { name: 'notes/29.txt' }).click();
    const panel = page.getByRole('tabpanel', { name: 'Artifacts' });
    const preview = panel.getByRole('region', { name: 'notes/29.txt' });
    await preview.getByText('text/plain, 7 bytes').waitFor();
    const isInView = async (locator: Locator): Promise<boolean> => {
      const { x, y, width, height } = (await locator.boundingBox()) ?? { x: -1, y: -1, width: 0, height: 0 };
      return x >= 0 && y >= 0 && x + width <= 1440 && y + height <= 900;
    };
    for (const shown of [
      preview.getByLabel('Version'),
      preview.getByText('note 29'),
      panel.locator('[aria-pressed=true]'),
    ])
      await expect.poll(() => isInView(shown)).toBe(true);
    expect(
      await panel.evaluate((box: { scrollWidth: number; clientWidth: number }) => box.scrollWidth - box.clientWidth),
    ).toBe(0);
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'many-files');
    await panel.getByLabel('Search files').fill('SHARED');
    await panel.getByRole('button', { name: 'shared.txt of the user' }).click();
    await panel.getByRole('region', { name: 'user:shared.txt' }).getByText('text/plain, 6 bytes').waitFor();

    await page.getByRole('button', { name: 'Export' }).click();
    const question = page.getByRole('alertdialog', { name: 'Export without these files?' });
    await question.getByText('shared.txt (belongs to the user)').waitFor();
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'export-without-files');
    const downloading = page.waitForEvent('download');
    await question.getByRole('button', { name: 'Export the rest' }).click();
    const path = await (await downloading).path();
    await page.getByLabel('A session to import').setInputFiles(path);
    await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
    await log.getByRole('img', { name: 'ball.svg' }).waitFor();
    await log.getByRole('button', { name: 'ball.svg saved, version 0' }).click();
    await panel.getByRole('region', { name: 'ball.svg' }).getByRole('img').waitFor();
    await log.getByRole('button', { name: 'shared.txt saved, version 0' }).click();
    await panel.getByRole('region', { name: 'user:shared.txt' }).waitFor();

    /** Imports the file with other artifacts. */
    const importWith = async (artifacts?: readonly object[]): Promise<void> => {
      const session = (address: string) => new URL(address).searchParams.get('session');
      const [file, before] = [JSON.parse(await readFile(path, 'utf8')) as object, session(page.url())];
      const buffer = Buffer.from(JSON.stringify({ ...file, artifacts }));
      const upload = { name: 'changed.json', mimeType: 'application/json', buffer };
      await page.getByLabel('A session to import').setInputFiles(upload);
      await page.waitForURL((url) => session(url.href) !== before);
    };
    await importWith([
      { filename: 'ball.svg', version: 1, part: { text: 'second' } },
      { filename: 'empty.bin', version: 0, part: {} },
    ]);
    await page.getByRole('alert').getByText('changed.json was imported without empty.bin (artifact: ').waitFor();
    await log.getByRole('button', { name: 'ball.svg saved, version 0' }).click();
    await panel.getByText('This version was not in the file').waitFor();

    // A file of an older version of the page has no artifacts.
    await importWith();
    await log.getByRole('button', { name: 'ball.svg saved, version 0, not in this session' }).click();
    await panel.getByText('The file “ball.svg” is not in this session').waitFor();
    expect(await panel.getByRole('region').count()).toBe(0);
    await keepPicture(page, 'files-of-an-import');
    // The server refused one of the files.
    expect(errors).toEqual([expect.stringContaining('400')]);
  });

  test('keeps the file and the comparison that the person looks at when an agent saves another file', async () => {
    let saved = 0;
    const save = new FunctionTool({
      name: 'save',
      description: 'Saves.',
      execute: (_args, context) => {
        saved++;
        const name = saved === 3 ? 'a-first.txt' : 'note.txt';
        return context.saveArtifact(name, { inlineData: { mimeType: 'text/plain', data: btoa(`line ${saved}\n`) } });
      },
    });
    const calls = [{ name: 'save' }];
    const { page } = await open([{ calls }, { calls }, 'Saved.', { calls }, 'Saved again.'], { tools: [save] });
    await send(page, 'Save it');
    await page.getByRole('log').getByText('Saved.').waitFor();
    await page.getByRole('tab', { name: 'Artifacts' }).click();
    const preview = page.getByRole('region', { name: 'note.txt' });
    await preview.getByLabel('Compare with').selectOption('0');
    await preview.getByText('- line 1').waitFor();
    await send(page, 'Save another');
    await page.getByRole('button', { name: 'a-first.txt' }).last().waitFor();
    await page.getByRole('log').getByText('Saved again.').waitFor();
    await preview.getByText('+ line 2').waitFor();
  });

  test('that waits for an approval is exported, and imported as history', async () => {
    const { page, sessionService, errors } = await open([{ calls: [{ name: 'pay' }, { name: 'look' }] }, 'Hello.'], {
      tools: [pay, look],
      isResumable: true,
    });
    await send(page, 'Pay');
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByLabel('A session to import').setInputFiles(await (await downloading).path());
    await page.waitForURL((url) => url.searchParams.get('session') !== 'first');
    const log = page.getByRole('log');
    await log
      .locator('.call', { hasText: 'pay' })
      .getByText(/^failed/)
      .waitFor();
    await log
      .locator('.call', { hasText: 'look' })
      .getByText(/^completed/)
      .waitFor();
    expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    await send(page, 'Hi');
    await log.getByText('Hello.').waitFor();
    const { sessions } = await sessionService.listSessions({ appName: 'app', userId: 'ann' });
    expect(sessions).toHaveLength(2);
    // The server has refused the calls that wait, and the page has sent them again with a response.
    expect(errors).toEqual([expect.stringContaining('403')]);
  });

  test('is found by the text of its messages', async () => {
    const { page, errors } = await open([{ text: 'The sky is blue.' }, { text: 'It is green.' }]);
    await send(page, 'What color is the sky?');
    await page.getByRole('log').getByText('The sky is blue.').waitFor();
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await send(page, 'And the grass?');
    await page.getByRole('log').getByText('It is green.').waitFor();
    const list = page.getByRole('list', { name: 'Sessions' });
    await list.getByText('And the grass?').waitFor();
    await expect.poll(() => list.getByRole('button').count()).toBe(2);
    await page.getByLabel('Search sessions').fill('blue');
    await list.getByText('And the grass?').waitFor({ state: 'detached' });
    await expect
      .poll(() => list.locator('b, .found').allInnerTexts())
      .toEqual(['What color is the sky?', '…The sky is blue.']);
    expect(await list.locator('mark').allInnerTexts()).toEqual(['blue']);
    await keepPicture(page, 'session-search');
    await list.getByRole('button').click();
    await page.getByRole('log').getByText('The sky is blue.').waitFor();
    await page.getByLabel('Search sessions').fill('purple');
    await page.getByText('No session has “purple” in its newest 200 events.').waitFor();
    expect(errors).toEqual([]);
  });

  test('is opened from the list, which keeps its search, its pages and its position', async () => {
    const { page, errors } = await open([], {
      fill: async (service) => {
        for (let index = 0; index < 70; index++) {
          const session = await service.createSession({ ...KEY, sessionId: `s${index}` });
          await service.appendEvent({ session, event: modelEvent('helper', index % 2 ? 'blue' : 'green') });
        }
      },
    });
    const list = page.getByRole('list', { name: 'Sessions' });
    await page.getByRole('button', { name: 'More' }).click();
    await expect.poll(() => list.getByRole('button').count()).toBe(71);
    const top = () => list.evaluate((box: { scrollTop: number }) => box.scrollTop);
    const last = list.getByRole('button').last();
    await last.click();
    await expect.poll(() => list.getByRole('button').last().getAttribute('aria-current')).toBe('true');
    expect(await top()).toBeGreaterThan(500);
    expect(await list.getByRole('button').count()).toBeGreaterThanOrEqual(70);
    const search = page.getByRole('textbox', { name: 'Search sessions' });
    await search.fill('blue');
    await expect.poll(() => list.getByRole('button').count()).toBe(35);
    await list.getByRole('button').nth(1).click();
    await expect.poll(() => list.getByRole('button').nth(1).getAttribute('aria-current')).toBe('true');
    expect(await search.inputValue()).toBe('blue');
    expect(await list.getByRole('button').count()).toBe(35);
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await expect.poll(() => search.inputValue()).toBe('');
    await expect.poll(() => list.getByRole('button').first().textContent()).toContain('new');
    expect(errors).toEqual([]);
  });

  test('repeats a failed run after a rewind', async () => {
    const { page } = await open([{ error: new Error('broken') }, { text: 'Blue.' }]);
    await send(page, 'What color?');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('log').getByText('Blue.').waitFor();
    await expect.poll(() => page.getByRole('log').getByText('What color?').count()).toBe(1);
    await page.getByRole('button', { name: 'Try again' }).waitFor({ state: 'detached' });
  });

  test('accepts files of the user, and shows those of both sides', async () => {
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const wave = Buffer.from('RIFF$\0\0\0WAVEfmt ').toString('base64');
    const { page, sessionService, errors } = await open([
      {
        parts: [
          { inlineData: { mimeType: 'image/png', data: pixel, displayName: 'a drawing' } },
          { inlineData: { mimeType: 'audio/wav', data: wave, displayName: 'a sound' } },
          { inlineData: { mimeType: 'application/pdf', data: pixel, displayName: 'report.pdf' } },
        ],
      },
    ]);
    // A picture is pasted, and removed again.
    await page.evaluate(`{
      const pasted = new DataTransfer();
      pasted.items.add(new File(['x'], 'pasted.png', { type: 'image/png' }));
      document.querySelector('.composer textarea')
        .dispatchEvent(new ClipboardEvent('paste', { clipboardData: pasted, bubbles: true }));
    }`);
    await page.getByRole('button', { name: 'Remove pasted.png' }).click();
    // A file may be dropped anywhere on the page.
    await page.evaluate(`{
      const dropped = new DataTransfer();
      dropped.items.add(new File(['x'], 'dropped.txt', { type: 'text/plain' }));
      const send = (type) => document.querySelector('.sidebar')
        .dispatchEvent(new DragEvent(type, { dataTransfer: dropped, bubbles: true, cancelable: true }));
      send('dragover');
      send('drop');
    }`);
    await page.getByRole('button', { name: 'Remove dropped.txt' }).click();
    await page.locator('.composer input[type=file]').setInputFiles({
      name: 'mine.png',
      mimeType: 'image/png',
      buffer: Buffer.from(pixel, 'base64'),
    });
    await page
      .locator('.composer input[type=file]')
      .setInputFiles({ name: 'empty.txt', mimeType: 'text/plain', buffer: Buffer.from('') });
    await send(page, 'Draw');
    await page.getByRole('alert').getByText('The file empty.txt is empty.').waitFor();
    await page.getByRole('button', { name: 'Remove empty.txt' }).click();
    // A file that is written again after it was attached can no longer be read.
    await page.evaluate(`(async () => {
      const handle = await (await navigator.storage.getDirectory()).getFileHandle('changed.txt', { create: true });
      const write = async (text) => {
        const stream = await handle.createWritable();
        await stream.write(text);
        await stream.close();
      };
      await write('before');
      const pasted = new DataTransfer();
      pasted.items.add(await handle.getFile());
      document.querySelector('.composer textarea')
        .dispatchEvent(new ClipboardEvent('paste', { clipboardData: pasted, bubbles: true }));
      await write('after');
    })()`);
    await page.getByRole('button', { name: 'Remove changed.txt' }).waitFor();
    await page.getByRole('textbox', { name: 'Message' }).press('Enter');
    await page.getByRole('alert').getByText('The file changed.txt cannot be read').waitFor();
    await page.getByRole('button', { name: 'Remove changed.txt' }).click();
    await send(page, 'Draw');
    const log = page.getByRole('log');
    await log.getByRole('img', { name: 'mine.png' }).waitFor();
    await log.getByRole('img', { name: 'a drawing' }).waitFor();
    await log.getByLabel('a sound').waitFor();
    for (const name of ['a drawing', 'a sound', 'report.pdf', 'mine.png'])
      await log.getByRole('link', { name: `Save ${name}` }).waitFor();
    const session = await sessionService.getSession(KEY);
    expect(session?.events[0]?.content?.parts).toContainEqual({
      inlineData: { mimeType: 'image/png', data: pixel, displayName: 'mine.png' },
    });
    expect(errors).toEqual([]);
  });
});

describe('a graph', () => {
  test('highlights the active node and the path that was taken, at an earlier moment too', async () => {
    const { agent, gate } = graph();
    const { page, errors } = await open([], { agent });
    await page.getByRole('tab', { name: 'Agents' }).click();
    await page.locator('[data-node=left][data-state=idle]').waitFor();
    await expect
      .poll(async () => (await page.locator('.edge-label').allTextContents()).toSorted())
      .toEqual(['left', 'right']);
    await expect.poll(() => page.locator('.edge[marker-end]').count()).toBe(5);
    await send(page, 'left');
    await page.locator('[data-node=left][data-state=active]').waitFor();
    await page.locator('.agent[data-active=true]').getByText('ways').waitFor();
    gate.open();
    await page.locator('[data-node=left][data-state=done]').waitFor();
    await page.locator('[data-node=right][data-state=idle]').waitFor();
    // The edges start, choose, left, end.
    await expect.poll(() => page.locator('path[data-taken=true]').count()).toBe(3);
    await page.getByRole('slider').press('Home');
    await page.locator('[data-node=choose][data-state=active]').waitFor();
    await expect.poll(() => page.locator('path[data-taken=true]').count()).toBe(1);
    expect(errors).toEqual([]);
  });
});

describe('a workflow', () => {
  test('highlights the active node and the path that was taken, and its trace has the nodes', async () => {
    const { agent, gate } = workflow();
    const { page, errors } = await open([], { agent, hasSpans: true });
    await page.getByRole('tab', { name: 'Agents' }).click();
    await page.locator('[data-node=left][data-state=idle]').waitFor();
    await send(page, 'left');
    await page.locator('[data-node=left][data-state=active]').waitFor();
    await page.locator('[data-node=choose][data-state=done]').waitFor();
    await page.getByRole('tab', { name: 'Trace' }).click();
    const unfinished = page.locator('.waterfall > li[data-open=true] .span-name');
    await expect.poll(() => unfinished.allTextContents()).toEqual(['run', 'flow', 'left']);
    gate.open();
    const all = page.locator('.waterfall > li[data-open=false] .span-name');
    await expect.poll(() => all.allTextContents()).toEqual(['run', 'flow', 'choose', 'left']);
    await keepPicture(page, 'workflow-trace');
    await page.getByRole('tab', { name: 'Agents' }).click();
    await page.locator('[data-node=left][data-state=done]').waitFor();
    await page.locator('[data-node=right][data-state=idle]').waitFor();
    expect(errors).toEqual([]);
  });
});

test('a node that works is highlighted before any event names it, if the server keeps spans', async () => {
  const { agent, gate } = workflow(true);
  const { page, errors } = await open([], { agent, hasSpans: true });
  await page.getByRole('tab', { name: 'Agents' }).click();
  await page.locator('[data-node=left][data-state=idle]').waitFor();
  await send(page, 'left');
  await page.locator('[data-node=left][data-state=active]').waitFor();
  gate.open();
  await page.locator('[data-node=left][data-state=done]').waitFor();
  await page.locator('[data-node=choose][data-state=done]').waitFor();
  expect(errors).toEqual([]);
});

describe('a trace', () => {
  const response = { usageMetadata: { promptTokenCount: 800, candidatesTokenCount: 100 }, modelVersion: 'scripted' };
  const source = 'Made from the events: the server keeps no spans of this run.';

  test('is drawn from the spans that the server keeps, during the run and at an earlier moment', async () => {
    const [first, second] = [new Gate(), new Gate()];
    const { page, errors } = await open(
      [
        { gate: first, calls: [{ name: 'look' }] },
        { chunks: ['The sky ', second, 'is blue.'], response },
      ],
      { tools: [look], hasSpans: true, permissions: ['clipboard-read', 'clipboard-write'] },
    );
    const bars = page.locator('.waterfall > li');
    const labels = (kind = ''): Promise<string[]> =>
      page.locator(`.waterfall > li${kind} .span-name`).allTextContents();
    await page.getByRole('tab', { name: 'Trace' }).click();
    await send(page, 'What color?');
    await expect.poll(() => labels('[data-open=true]')).toEqual(['run', 'helper', 'scripted']);
    first.open();
    await page.getByRole('log').getByText('The sky').waitFor();
    await expect.poll(() => labels()).toEqual(['run', 'helper', 'scripted', 'look', 'scripted']);
    await expect.poll(() => labels('[data-open=true]')).toEqual(['run', 'helper', 'scripted']);
    second.open();
    await expect.poll(() => labels('[data-open=false]')).toHaveLength(5);
    await expect
      .poll(() => bars.last().textContent())
      .toMatch(/tokens 800 in, 100 out · first token (?:<1 ms|\d+ ms|[\d.]+ s) · \$1$/);
    await expect.poll(() => bars.last().locator('.first-token').count()).toBe(1);
    await page.getByText('2 model calls, 800 tokens in, 100 out, $1').waitFor();
    expect(await page.getByText(source).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'trace-of-spans');
    await expect.poll(() => page.locator('.trace select option').allTextContents()).toEqual(['1: What color?']);
    const waterfall = page.locator('.waterfall');
    await waterfall.getByRole('button', { name: 'look' }).click();
    await waterfall.getByText('"color": "blue"').waitFor();
    await bars.last().getByRole('button').click();
    await waterfall.getByText('Messages (3)').waitFor();
    await waterfall.getByText('← look {"color":"blue"}').waitFor();
    await waterfall.getByText('gen_ai.usage.input_tokens').waitFor();
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'trace-row');
    await bars.last().getByRole('button').first().click();
    const reply = page.getByRole('article').filter({ hasText: 'The sky is blue.' });
    await reply.getByRole('button', { name: 'Copy' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('The sky is blue.');
    // The first event is the question; then the model works. Its span may end a moment before its event is created.
    await page.getByRole('slider').press('Home');
    await expect.poll(() => labels()).toEqual(['run', 'helper', 'scripted']);
    expect((await labels('[data-open=true]')).slice(0, 2)).toEqual(['run', 'helper']);
    expect(errors).toEqual([]);
  });

  test('shows the work of a run beside a long wait for a person, which is drawn short', async () => {
    const run = { invocationId: 'e-1', executionId: 'x' };
    const approval = { originalFunctionCall: { id: 'c1', name: 'pay' }, toolConfirmation: { hint: 'Pay?' } };
    const call = (id: string, name: string, args: Record<string, unknown>) =>
      modelEvent('helper', [{ functionCall: { id, name, args } }], { ...run, timestamp: id === 'c1' ? 1001 : 1001.01 });
    const result = (author: string, timestamp: number, id: string, name: string, value: Record<string, unknown>) =>
      functionResponseEvent(author, [{ id, name, response: value }], { ...run, timestamp });
    const events = [
      userEvent('Pay', { ...run, timestamp: 1000 }),
      call('c1', 'pay', {}),
      call('q1', 'adk_request_confirmation', approval),
      result('helper', 1001.02, 'c1', 'pay', { error: 'requires confirmation' }),
      result('user', 1081, 'q1', 'adk_request_confirmation', { confirmed: true }),
      result('helper', 1081.5, 'c1', 'pay', { paid: true }),
      modelEvent('helper', 'Paid.', { ...run, timestamp: 1083, ...response }),
    ];
    const { page } = await open([], {
      fill: async (service) => {
        const session = await service.createSession(KEY);
        for (const event of events) await service.appendEvent({ session, event });
      },
    });
    await page.getByRole('tab', { name: 'Trace' }).click();
    await page.getByText('3.0 s and 80.0 s of waiting, 2 model calls').waitFor();
    const widths = await page
      .locator('.bar')
      .evaluateAll((bars: { style: { width: string } }[]) =>
        bars.map(({ style }) => Math.round(parseFloat(style.width))),
      );
    // The run, the agent, the first reply, the payment, the wait for its approval, and the second reply.
    expect(widths).toEqual([100, 100, 32, 16, 4, 48]);
    expect(await violations(page)).toEqual([]);
    await keepPicture(page, 'trace-with-a-wait');
  });

  test.each([
    ['the server has no routes for spans', false],
    ['the server keeps no spans of the session', true],
  ])('is drawn from the events where %s', async (_reason, hasSpans) => {
    const { page, errors } = await open([], {
      hasSpans,
      fill: async (service) => {
        const session = await service.createSession(KEY);
        const big = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`key${index}`, { index }]));
        const actions = { stateDelta: { big }, artifactDelta: {} };
        const event = modelEvent('helper', 'Blue.', { invocationId: 'e-1', executionId: 'x', actions, ...response });
        await service.appendEvent({ session, event });
      },
    });
    await page.getByRole('tab', { name: 'Trace' }).click();
    await page.getByText(source).waitFor();
    await expect
      .poll(() => page.locator('.waterfall .span-name').allTextContents())
      .toEqual(['run', 'helper', 'scripted']);
    await page.getByText('1 model call, 800 tokens in, 100 out, $1').waitFor();
    await page.getByRole('button', { name: 'scripted' }).click();
    await page.locator('.waterfall').getByText('"text": "Blue."').waitFor();
    // A nested value of the state is folded.
    await page.getByRole('tab', { name: 'State' }).click();
    await page.locator('dd').getByText('40 keys').waitFor();
    expect(await page.getByText('"index": 39').count()).toBe(0);
    await page.locator('dd summary').click();
    await page.getByText('"index": 39').waitFor();
    expect(errors).toEqual([]);
  });
});

describe('runs', () => {
  test('of all sessions that have not ended are listed, and are cancelled', async () => {
    const gate = new Gate();
    const { page, url, errors } = await open([{ chunks: ['The sky ', gate, 'is blue.'] }]);
    const { page: other } = await visit(url.replace('session=first', 'session=second'));
    await other.getByRole('tab', { name: 'Runs' }).click();
    await other.getByText('No run is open in any session of this user.').waitFor();
    await send(page, 'What color?');
    await page.getByRole('log').getByText('The sky').waitFor();
    await other.getByText('in flight, began').waitFor();
    await other.locator('.open-run').getByText('What color?').waitFor();
    await other.getByRole('button', { name: 'Cancel', exact: true }).click();
    await other.getByText('No run is open in any session of this user.').waitFor();
    await page.getByRole('log').getByText('Stopped', { exact: true }).waitFor();
    await keepPicture(page, 'stopped');
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.reload();
    await page.getByRole('log').getByText('Stopped', { exact: true }).waitFor();
    await page.getByRole('log').getByText('The sky').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(errors).toEqual([]);
    gate.open();
  });
});

test('a message is sent once when Enter is pressed again while its file is read, and a draft stays with its session', async () => {
  const { page, sessionService } = await open(['Blue.', 'Red.']);
  const box = page.getByRole('textbox', { name: 'Message' });
  await page
    .locator('.composer input[type=file]')
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
  await box.fill('Look');
  await page.evaluate(`for (let each = 0; each < 2; each++) document.querySelector('.composer').requestSubmit()`);
  await page.getByRole('log').getByText('Blue.').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  expect(await page.getByRole('log').getByText('Look', { exact: true }).count()).toBe(1);
  const { events = [] } = (await sessionService.getSession(KEY)) ?? {};
  expect(events.filter(({ author }) => author === 'user')).toHaveLength(1);

  await box.fill('A draft');
  await page.getByRole('button', { name: 'New', exact: true }).click();
  await page.getByRole('heading', { name: 'Talk to helper' }).waitFor();
  expect(await box.inputValue()).toBe('');
  await page.goBack();
  await page.getByRole('log').getByText('Blue.').waitFor();
  expect(await box.inputValue()).toBe('A draft');
  await page.reload();
  await page.getByRole('log').getByText('Blue.').waitFor();
  expect(await box.inputValue()).toBe('A draft');
});

test('prompts that were not sent are offered until the person writes a message of their own', async () => {
  const { page } = await open(['Blue.', 'Hello.'], { prompts: ['What color is it?', 'Who are you?'] });
  const offered = page.getByRole('list', { name: 'Messages to try' });
  await page.getByRole('button', { name: 'What color is it?' }).click();
  await expect.poll(() => offered.getByRole('button').allTextContents()).toEqual(['Who are you?']);
  await send(page, 'Hi');
  await page.getByRole('log').getByText('Hello.').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  expect(await offered.count()).toBe(0);
});

test('voice is not offered for a model that cannot run live', async () => {
  const { page } = await open(['Hello.']);
  await send(page, 'Hello');
  await page.getByRole('log').getByText('Hello.').waitFor();
  expect(await page.getByRole('button', { name: 'Speak', exact: true }).count()).toBe(0);
});
