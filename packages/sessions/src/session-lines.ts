import { InvalidRequestError, type SessionRecord, toError } from '@eventloom/core';

/**
 * An exported session as lines of JSON, each with its line feed:
 *
 * ```ts
 * await pipeline(toSessionLines(sessionService.exportSession(key)), createWriteStream(path));
 * ```
 */
export async function* toSessionLines(
  records: AsyncIterable<SessionRecord> | Iterable<SessionRecord>,
): AsyncGenerator<string, void, undefined> {
  for await (const record of records) yield `${JSON.stringify(record)}\n`;
}

/**
 * The records of an exported session, from text or UTF-8 bytes that may be cut anywhere: what a file or a request body gives.
 * Blank lines are passed over. What a record holds is checked by `importSession`.
 *
 * The generator throws InvalidRequestError for a line that is not JSON, with its number.
 */
export async function* parseSessionLines(
  chunks: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
): AsyncGenerator<SessionRecord, void, undefined> {
  let number = 0;
  for await (const line of splitLines(chunks)) {
    number += 1;
    if (line.trim() === '') continue;
    yield parseLine(line, number);
  }
}

async function* splitLines(
  chunks: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let begun: string[] = [];
  for await (const chunk of chunks) {
    const pieces = (typeof chunk === 'string' ? chunk : decode(decoder, chunk)).split('\n');
    const last = pieces.pop() ?? '';
    for (const piece of pieces) {
      begun.push(piece);
      yield begun.join('');
      begun = [];
    }
    if (last !== '') begun.push(last);
  }
  begun.push(decode(decoder));
  const rest = begun.join('');
  if (rest !== '') yield rest;
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
