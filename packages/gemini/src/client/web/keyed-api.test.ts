import { expect, test, vi } from 'vitest';
import { readServerSentJson } from './keyed-api.ts';

async function read(...pieces: string[]): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  const found: string[] = [];
  for await (const text of readServerSentJson(body)) found.push(text.trim());
  return found;
}

test.each(['\r\n', '\n', '\r'])('events may end with two %j, in one chunk or in several', async (line) => {
  const end = line + line;
  expect(await read(`data: {"a":1}${end}data:{"b":2}${end}`)).toEqual(['{"a":1}', '{"b":2}']);
  expect(await read('da', `ta: {"a":1}${line}`, `${line}data: {"b":2}`, end)).toEqual(['{"a":1}', '{"b":2}']);
});

test('fields of an event other than data are ignored', async () => {
  expect(await read(': a comment\n\nevent: end\n\ndata: {}\n\n')).toEqual(['{}']);
});

test('a body that is not a stream is one event', async () => {
  expect(await read('{"error":', '{"code":429}}\n')).toEqual(['{"error":{"code":429}}']);
});

test('a body that ends inside an event throws', async () => {
  await expect(read('data: {}\n\ndata: {"a":')).rejects.toThrow(TypeError);
});

test('a long event is scanned once however it is split', async () => {
  const split = vi.spyOn(String.prototype, 'split');
  const searched = async (count: number): Promise<number> => {
    split.mockClear();
    const pieces = Array.from({ length: count }, () => 'x'.repeat(10));
    expect(await read('data:', ...pieces, '\r\n\r', '\n')).toEqual([pieces.join('')]);
    return split.mock.contexts.reduce((sum: number, text) => sum + String(text).length, 0);
  };
  try {
    expect(await searched(400)).toBeLessThan(4.1 * (await searched(100)));
  } finally {
    split.mockRestore();
  }
});
