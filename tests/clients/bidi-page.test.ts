import type { Event } from '@eventloom/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { places, type Started } from './servers.ts';

/**
 * Plays the page of adk-go's example `bidi`, which is not on npm: the same address, frames and reading of events. Its
 * session does not exist before the first call.
 */
class BidiPage {
  /** The bubbles and notes that the page shows. */
  readonly messages: string[] = [];
  /** Bytes of speech for the loudspeaker. */
  spokenBytes = 0;
  isCameraOn = false;
  readonly faults: string[] = [];
  readonly opened: Promise<void>;
  readonly #socket: WebSocket;
  #heard: number | undefined;
  #spoken: number | undefined;

  constructor(origin: string, sessionId: string, hasOptions: boolean) {
    const query = new URLSearchParams({ appName: 'bidi-demo', userId: 'demo-user', sessionId });
    // The two boxes of the page.
    if (hasOptions) query.append('proactivity', 'true');
    if (hasOptions) query.append('affective_dialog', 'true');
    this.#socket = new WebSocket(`${origin.replace(/^http/, 'ws')}/run_live?${query}`);
    this.opened = new Promise((resolve) => this.#socket.addEventListener('open', () => resolve()));
    this.#socket.addEventListener('message', ({ data }) => this.#read(data));
    this.#socket.addEventListener('close', ({ code, reason }) => this.messages.push(`closed: ${code} ${reason}`));
  }

  say(text: string): void {
    this.messages.push(`user: ${text}`);
    this.#socket.send(JSON.stringify({ content: { role: 'user', parts: [{ text }] } }));
  }

  sendPicture(data: string): void {
    this.#socket.send(JSON.stringify({ blob: { mime_type: 'image/jpeg', data } }));
  }

  /** Sends what the microphone recorded: 128 samples of 16 bits, as a binary frame. */
  sendAudio(): void {
    this.#socket.send(new Int16Array(128).buffer);
  }

  close(): void {
    this.#socket.close();
  }

  #read(data: unknown): void {
    if (typeof data !== 'string') {
      this.faults.push('a binary frame');
      return;
    }
    const event = JSON.parse(data) as Event & { readonly error?: string };
    if (event.error !== undefined || event.errorMessage !== undefined) this.faults.push(data);
    if (event.turnComplete === true || event.interrupted === true) {
      if (event.interrupted === true && this.#spoken !== undefined) this.messages[this.#spoken] += ' (interrupted)';
      this.#spoken = undefined;
      // The page reads nothing else in such an event.
      return;
    }
    this.#heard = this.#show('user', this.#heard, event.inputTranscription);
    this.#spoken = this.#show('agent', this.#spoken, event.outputTranscription);
    for (const { text, inlineData, functionResponse } of event.content?.parts ?? []) {
      if (text !== undefined) this.messages.push(`text of ${event.author}: ${text}`);
      if (inlineData?.mimeType?.startsWith('audio/pcm')) this.spokenBytes += atob(inlineData.data ?? '').length;
      if (functionResponse?.name === 'camera_toggle') this.isCameraOn = !this.isCameraOn;
    }
  }

  /** Shows a transcription in the bubble of its turn. Pieces are appended, and the whole text replaces them. */
  #show(who: string, at: number | undefined, said: Event['inputTranscription']): number | undefined {
    if (said?.text === undefined) return at;
    const bubble = at ?? this.messages.length;
    const before = said.finished === true || at === undefined ? `${who}: ` : (this.messages[at] ?? '');
    this.messages[bubble] = before + said.text;
    return said.finished === true ? undefined : bubble;
  }
}

describe.each(places)("the frames of adk-go's bidi page against %s", (_place, start) => {
  let server: Started;
  let sessionId = '';
  beforeAll(async () => {
    server = await start();
  });
  beforeEach(() => {
    sessionId = crypto.randomUUID();
  });
  afterAll(() => server.stop());

  async function open(hasOptions = false): Promise<BidiPage> {
    const page = new BidiPage(server.url, sessionId, hasOptions);
    await page.opened;
    return page;
  }

  test.each([
    ['without', false],
    ['with', true],
  ])('get a conversation with text, pictures, speech and a tool, %s the options of the page', async (_, hasOptions) => {
    const page = await open(hasOptions);
    page.say('Turn on the camera');
    await expect.poll(() => page.messages).toEqual(['user: Turn on the camera', 'agent: The camera is on.']);
    expect(page.isCameraOn).toBe(true);
    page.sendPicture('/9j/4AAQ');
    await expect.poll(() => page.messages.slice(2)).toEqual(['agent: I see a picture.']);
    page.sendAudio();
    await expect.poll(() => page.messages.slice(3)).toEqual(['user: And now?', 'agent: Now I (interrupted)']);
    expect(page.spokenBytes).toBe(3 * 3000);
    page.close();
    await expect.poll(() => page.messages.at(-1)).toMatch(/^closed/);
    expect(page.faults).toEqual([]);
  });

  test('continue the session after the page is loaded again in the middle of a conversation', async () => {
    const first = await open();
    first.say('Turn on the camera');
    await expect.poll(() => first.messages.at(-1)).toBe('agent: The camera is on.');
    first.close();
    const page = await open();
    page.say('Turn off the camera');
    await expect.poll(() => page.messages).toEqual(['user: Turn off the camera', 'agent: The camera is on.']);
    const address = `${server.url}/apps/bidi-demo/users/demo-user/sessions/${sessionId}`;
    const { events } = (await (await fetch(address)).json()) as { readonly events: readonly Event[] };
    const typed = events.filter(({ author, content }) => author === 'user' && content !== undefined);
    expect(typed.map(({ content }) => content?.parts?.[0]?.text)).toEqual([
      'Turn on the camera',
      'Turn off the camera',
    ]);
    page.close();
    await expect.poll(() => page.messages.at(-1)).toMatch(/^closed/);
    expect(page.faults).toEqual([]);
  });
});
