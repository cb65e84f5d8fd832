import { createEvent, InvalidRequestError, type SessionRecord } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { InMemorySessionService } from './in-memory-session-service.ts';
import { parseSessionLines, toSessionLines } from './session-lines.ts';

const event = (id: string): SessionRecord => ({
  type: 'event',
  event: createEvent({ id, author: 'é 名 🎈 \u2028 "\n"' }),
});
const RECORDS: readonly SessionRecord[] = [event('one'), event('two'), { type: 'end', events: 2, toolCalls: 0 }];
const LINES = RECORDS.map((record) => `${JSON.stringify(record)}\n`).join('');
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Parses the records in these chunks of text or bytes. */
function parse(...chunks: (string | Uint8Array)[]): Promise<SessionRecord[]> {
  return collect(parseSessionLines(chunks));
}

async function failureOf(...chunks: (string | Uint8Array)[]): Promise<unknown> {
  const failure = await parse(...chunks).catch((error: unknown) => error);
  expect(InvalidRequestError.isInstance(failure), String(failure)).toBe(true);
  return failure;
}

describe('toSessionLines', () => {
  test('writes a line of JSON for each record, and a line feed after each', async () => {
    expect((await collect(toSessionLines(RECORDS))).join('')).toBe(LINES);
  });
});

describe('parseSessionLines', () => {
  test('reads bytes split anywhere, even inside a character', async () => {
    const bytes = utf8(LINES);
    for (let at = 0; at <= bytes.length; at++) {
      expect(await parse(bytes.subarray(0, at), bytes.subarray(at)), `cut at ${at}`).toEqual(RECORDS);
    }
  });

  test('reads text split anywhere, even inside a surrogate pair', async () => {
    for (let at = 0; at <= LINES.length; at++) {
      expect(await parse(LINES.slice(0, at), LINES.slice(at)), `cut at ${at}`).toEqual(RECORDS);
    }
  });

  test('reads single bytes and single characters', async () => {
    expect(await parse(...Array.from(utf8(LINES), (byte) => Uint8Array.of(byte)))).toEqual(RECORDS);
    expect(await parse(...LINES.split(''))).toEqual(RECORDS);
  });

  test('reads a stream with text, bytes and empty chunks', async () => {
    const first = JSON.stringify(RECORDS[0]);
    const rest = LINES.slice(first.length);
    expect(await parse('', first, new Uint8Array(), utf8(rest), '')).toEqual(RECORDS);
    const stream = new Blob([LINES]).stream();
    expect(await collect(parseSessionLines(stream))).toEqual(RECORDS);
  });

  test('reads lines that end in CR LF, a last line without an end, and a file that begins with a byte order mark', async () => {
    expect(await parse(LINES.replaceAll('\n', '\r\n'))).toEqual(RECORDS);
    expect(await parse(utf8(LINES.slice(0, -1)))).toEqual(RECORDS);
    expect(await parse(`\ufeff${LINES}`)).toEqual(RECORDS);
    expect(await parse(utf8(`\ufeff${LINES}`))).toEqual(RECORDS);
  });

  test('skips blank lines, and returns no records for empty input', async () => {
    expect(await parse(`\n \r\n${LINES.replaceAll('\n', '\n\n\t\n')}\n`)).toEqual(RECORDS);
    for (const nothing of ['', '\n', '\r\n\r\n']) expect(await parse(nothing)).toEqual([]);
    expect(await parse()).toEqual([]);
  });

  test('names the line that is not JSON, counting blank lines', async () => {
    expect(await failureOf('\n', LINES, '\n{"type":"event",', '\n', LINES)).toMatchObject({
      message: expect.stringMatching(/^line 6 is not JSON: /),
    });
    expect(await failureOf('not JSON')).toMatchObject({ message: expect.stringMatching(/^line 1 is not JSON: /) });
  });

  test('yields the records before an invalid line', async () => {
    const records = parseSessionLines([LINES, 'not JSON\n', LINES]);
    for (const record of RECORDS) expect((await records.next()).value).toEqual(record);
    await expect(records.next()).rejects.toThrow('line 4');
  });

  test('refuses bytes that are not UTF-8, and an incomplete last character', async () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80]]) await failureOf(LINES, Uint8Array.from(bytes));
    await failureOf(utf8('{"type":"é').subarray(0, -1));
    await failureOf(utf8(LINES), Uint8Array.of(0xc3));
    await failureOf(Uint8Array.of(0x22, 0xc3), 'x', Uint8Array.of(0xa9, 0x22));
  });

  test('closes its source when its reader stops', async () => {
    let isOpen = true;
    const source = async function* () {
      try {
        yield LINES;
        yield LINES;
      } finally {
        isOpen = false;
      }
    };
    for await (const _ of parseSessionLines(source())) break;
    expect(isOpen).toBe(false);
  });
});

describe('an exported session', () => {
  const key = { appName: 'app', userId: 'user', sessionId: 'session' };

  test('that is truncated in any place is refused, and nothing is stored', async () => {
    const service = new InMemorySessionService();
    const session = await service.createSession({ ...key, state: { 'app:name': 'é' } });
    await service.appendEvent({ session, event: createEvent({ author: 'é' }) });
    const lines = (await collect(toSessionLines(service.exportSession(key)))).join('');
    const bytes = utf8(lines);
    const target = new InMemorySessionService();
    for (let length = 0; length < bytes.length - 1; length++) {
      const records = parseSessionLines([bytes.subarray(0, length)]);
      const refused = expect(target.importSession({ records }), `cut at ${length}`).rejects;
      await refused.toSatisfy((error) => InvalidRequestError.isInstance(error));
    }
    expect((await target.createSession({ appName: 'app', userId: 'user' })).state).toEqual({});
    await target.importSession({ records: parseSessionLines([bytes.subarray(0, -1)]) });
    expect((await collect(toSessionLines(target.exportSession(key)))).join('')).toBe(lines);
  });
});
