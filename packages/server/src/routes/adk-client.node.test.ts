import type { Event } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { servers, setUp, STREAM } from './fixtures/run-server.ts';

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.shutDown()));
});

/**
 * Reads `/run_sse` as `AdkApiClient.runAsync` in `@google/adk-devtools` 2.0.0 does: blocks are separated by an empty
 * line; a block that does not begin with `data: ` is dropped; the rest of the block is one JSON text; a field `error`
 * in it ends the run.
 */
async function* runAsync({ ok, body }: Response): AsyncGenerator<Event, void, undefined> {
  if (!ok || !body) throw new TypeError('the server refused the run');
  let text = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + piece).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      if (!block.startsWith('data: ')) continue;
      const data = JSON.parse(block.slice('data: '.length)) as Event & { readonly error?: string };
      if (data.error) throw new TypeError(data.error);
      yield data;
    }
  }
}

const textOf = ({ content }: Event) => content?.parts?.map(({ text }) => text).join('');

describe('AdkApiClient', () => {
  test('gets every event of a streamed run with heartbeats in between', async () => {
    const gate = new Gate();
    const { post } = await setUp([{ chunks: ['one ', gate, 'two'] }], { heartbeatMs: 1, respondAfterMs: 0 });
    const response = await post('/run_sse', STREAM);
    const [stream, copy] = response.body?.tee() ?? [];
    const texts: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const event of runAsync(new Response(stream))) texts.push(textOf(event));
    };
    const reading = read();
    let sent = '';
    for await (const piece of copy?.pipeThrough(new TextDecoderStream()) ?? []) {
      sent += piece;
      if (sent.includes(': heartbeat')) gate.open();
    }
    expect(sent).toContain(': heartbeat\n\n');
    await reading;
    expect(texts).toEqual(['one ', 'two', 'one two']);
  });

  test('gets the error of a failed run', async () => {
    const gate = new Gate();
    const { url, post } = await setUp([{ chunks: ['one', gate] }]);
    const response = await post('/run_sse', STREAM);
    const texts: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const event of runAsync(response)) texts.push(textOf(event));
    };
    const path = `/apps/app/users/ann/sessions/s/runs/${response.headers.get('eventloom-invocation-id')}`;
    await fetch(`${url}${path}`, { method: 'DELETE' });
    await expect(read()).rejects.toThrow('the run was cancelled');
    expect(texts[0]).toBe('one');
  });
});
