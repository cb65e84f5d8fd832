import { InvalidRequestError, type SessionRecord, toError } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';

/**
 * Converts an exported session to text for a file: one line of JSON for each record, with its line feed. `parseSessionLines` reads it.
 *
 * @throws InvalidRequestError, while iterating, for a value without records
 *
 * @example
 * import { createWriteStream } from 'node:fs';
 * import { pipeline } from 'node:stream/promises';
 *
 * await pipeline(toSessionLines(sessionService.exportSession(key)), createWriteStream('session.jsonl'));
 */
export async function* toSessionLines(
  records: AsyncIterable<SessionRecord> | Iterable<SessionRecord>,
): AsyncGenerator<string, void, undefined> {
  checkIterable('toSessionLines', 'records', records, 'sessionService.exportSession({ … })');
  for await (const record of records) yield `${JSON.stringify(record)}\n`;
}

/**
 * Parses text of `toSessionLines` into the records of a session, for `importSession`, which checks them. Takes the chunks of a file or a
 * request body, as text or UTF-8 bytes; a chunk may end in the middle of a line. Blank lines are skipped.
 *
 * @throws InvalidRequestError, while iterating, for a value without chunks, for a line that is not JSON (with its
 * number) and for bytes that are not UTF-8
 *
 * @example
 * import { createReadStream } from 'node:fs';
 *
 * await sessionService.importSession({ records: parseSessionLines(createReadStream('session.jsonl')) });
 */
export async function* parseSessionLines(
  chunks: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
): AsyncGenerator<SessionRecord, void, undefined> {
  if (typeof chunks !== 'string')
    checkIterable('parseSessionLines', 'chunks of text or bytes', chunks, "createReadStream('session.jsonl')");
  let number = 0;
  for await (const line of splitLines(chunks)) {
    number += 1;
    // Also removes the byte order mark that some editors put at the start of a file.
    const text = line.trim();
    if (text !== '') yield parseLine(text, number);
  }
}

function checkIterable(caller: string, wanted: string, value: unknown, write: string): void {
  if (typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value))
    return;
  throw new InvalidRequestError(`${caller}: expected ${wanted}, got ${describeKind(value)}; write ${caller}(${write})`);
}

async function* splitLines(
  chunks: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let begun: string[] = [];
  for await (const chunk of chunks) {
    const text = typeof chunk === 'string' ? decode(decoder) + chunk : decode(decoder, chunk);
    const pieces = text.split('\n');
    const rest = pieces.pop() ?? '';
    for (const piece of pieces) {
      begun.push(piece);
      yield begun.join('');
      begun = [];
    }
    if (rest !== '') begun.push(rest);
  }
  begun.push(decode(decoder));
  yield begun.join('');
}

function decode(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
  } catch (cause) {
    throw new InvalidRequestError('the exported session is not UTF-8', { cause });
  }
}

function parseLine(line: string, number: number): SessionRecord {
  try {
    return JSON.parse(line) as SessionRecord;
  } catch (cause) {
    throw new InvalidRequestError(`line ${number} is not JSON: ${toError(cause).message}`, { cause });
  }
}
