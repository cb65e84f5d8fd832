import { describe, expect, test } from 'vitest';
import { parseEvent } from './parse-event.ts';
import { faultOf } from './fixtures/fault-of.ts';

describe('parseEvent and time', () => {
  test.each([
    [1_763_705_520.123456, 1_763_705_520.123456],
    [0, 0],
    ['2025-11-21T06:12:00Z', 1_763_705_520],
    ['2025-11-21T06:12:00.5Z', 1_763_705_520.5],
    ['2025-11-21T07:12:00+01:00', 1_763_705_520],
    ['2025-11-21t06:12:00z', 1_763_705_520],
    ['2025-11-21 06:12:00Z', 1_763_705_520],
    ['9999-12-31T23:59:59.999Z', 253_402_300_799.999],
  ])('reads %j', (timestamp, seconds) => {
    expect(parseEvent({ timestamp }).timestamp).toBe(seconds);
    expect(parseEvent({ actions: { compaction: { start_timestamp: timestamp } } }).actions.compaction).toEqual({
      startTimestamp: seconds,
    });
  });

  test.each([1_763_705_520_123, 253_402_300_800, 1e300])(
    'throws for %d, which is a time in milliseconds',
    (timestamp) => {
      expect(faultOf(() => parseEvent({ timestamp }))?.message).toBe(
        `event.timestamp: ${timestamp} is past the year 9999; timestamps are in seconds, was this milliseconds?`,
      );
    },
  );

  test('throws for a time before the year 1', () => {
    expect(parseEvent({ timestamp: -62_135_596_800 }).timestamp).toBe(-62_135_596_800);
    expect(faultOf(() => parseEvent({ timestamp: -62_135_596_801 }))?.path).toBe('event.timestamp');
  });

  test.each([
    '2025-11-21',
    '2025-11-21T06:12:00',
    '1763705520',
    'Fri, 21 Nov 2025 06:12:00 GMT',
    '2025-13-01T00:00:00Z',
    '',
    true,
    {},
  ])('refuses %j, which is not a time or depends on the time zone of the reader', (timestamp) => {
    expect(faultOf(() => parseEvent({ timestamp }))?.path).toBe('event.timestamp');
  });
});

describe('parseEvent and bytes', () => {
  test.each(['', '+/8=', '+/8', '-_8=', '-_8', 'AAAA'])('keeps the base64 text %j unchanged', (data) => {
    expect(parseEvent({ content: { parts: [{ inline_data: { data } }] } }).content?.parts).toEqual([
      { inlineData: { data } },
    ]);
  });

  test.each(['A', 'not base64!', 'AA=A'])('refuses %j', (data) => {
    expect(faultOf(() => parseEvent({ content: { parts: [{ inlineData: { data } }] } }))?.message).toBe(
      'event.content.parts[0].inlineData.data: expected base64 text',
    );
  });
});
