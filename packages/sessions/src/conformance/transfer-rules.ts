import type { GetSessionConfig } from '@eventloom/core';
import type { ConformanceRule } from '@eventloom/core/conformance';
import { parseSessionLines, toSessionLines } from '../session-lines.ts';
import { comparable, exportAll, recordsOf } from './records.ts';
import { richToolCalls, writeRichSession } from './rich-session.ts';
import { KEY, sampleEvent } from './samples.ts';
import type { PromisedService } from './session-rule.ts';

/** The two services of a transfer. */
export interface SessionTransfer {
  readonly source: PromisedService;
  readonly target: PromisedService;
}

const MEGABYTE = 1_048_576;
const WINDOWS: readonly GetSessionConfig[] = [
  { sinceCompaction: true },
  { sinceCompaction: true, numRecentEvents: 2 },
  { afterTimestamp: 1_767_323_044 },
  { afterTimestamp: 1_767_323_043.5, beforeSeq: 4 },
  { afterSeq: 3, numRecentEvents: 3 },
];

/** Rules about sessions that are copied from one back end to another. */
export const transferRules: readonly ConformanceRule<SessionTransfer>[] = [
  {
    id: 'transfer.lossless',
    title:
      'A session that is exported from one back end and imported into another has the same state, events, order, times and tool calls.',
    async check({ service: { source, target }, platform, expect }) {
      await writeRichSession({ service: source, platform }, KEY);
      platform.advance(100_000);
      const returned = await target.importSession({ records: source.exportSession(KEY) });
      const original = expect.present('the original', await source.getSession(KEY));
      const copy = await target.getSession(KEY);
      expect.same('the copy', copy, { ...original, incarnation: copy?.incarnation });
      expect.same('the session that the import returned', returned, copy);
      expect.same('the tool calls', await richToolCalls(target, KEY), await richToolCalls(source, KEY));
    },
  },
  {
    id: 'transfer.there-and-back',
    title: 'The export of a transferred session equals the original export, in both directions.',
    async check({ service: { source, target }, platform, expect }) {
      await writeRichSession({ service: source, platform }, KEY);
      const first = comparable(await exportAll(source, KEY));
      await target.importSession({ records: source.exportSession(KEY) });
      expect.same('the export of the imported session', comparable(await exportAll(target, KEY)), first);
      await source.deleteSession(KEY);
      await source.importSession({ records: target.exportSession(KEY) });
      expect.same('the export of the session transferred back', comparable(await exportAll(source, KEY)), first);
    },
  },
  {
    id: 'transfer.as-lines',
    title: 'A session that is transferred as lines of text, in chunks of any size, is the same.',
    async check({ service: { source, target }, platform, expect }) {
      await writeRichSession({ service: source, platform }, KEY);
      const lines: string[] = [];
      for await (const line of toSessionLines(source.exportSession(KEY))) lines.push(line);
      const bytes = new TextEncoder().encode(lines.join(''));
      const chunks = Array.from({ length: Math.ceil(bytes.length / 99) }, (_, at) =>
        bytes.subarray(at * 99, at * 99 + 99),
      );
      await target.importSession({ records: parseSessionLines(chunks) });
      const expected = comparable(await exportAll(source, KEY));
      expect.same('the export of the imported session', comparable(await exportAll(target, KEY)), expected);
    },
  },
  {
    id: 'transfer.same-windows',
    title: 'A window selects the same events in both back ends.',
    async check({ service: { source, target }, platform, expect }) {
      await writeRichSession({ service: source, platform }, KEY);
      await target.importSession({ records: source.exportSession(KEY) });
      for (const config of WINDOWS) {
        const original = await source.getSession({ ...KEY, config });
        const copy = await target.getSession({ ...KEY, config });
        expect.same(`the events with ${JSON.stringify(config)}`, copy?.events, original?.events);
      }
    },
  },
  {
    id: 'transfer.large',
    title: 'Long sessions and values of 1 MB are transferred completely.',
    async check({ service: { source, target }, expect }) {
      const text = `x${'名前✅é🎈'.repeat(69_905)}`;
      const state = { plain: 'x'.repeat(MEGABYTE), 'user:text': text, 'app:text': text };
      const ids = Array.from({ length: 1201 }, (_, index) => `event ${index}`);
      const events = ids.map((id, index) =>
        sampleEvent(id, index === 600 ? { content: { role: 'user', parts: [{ text }] } } : {}),
      );
      await source.importSession({ records: recordsOf({ state }, events) });
      await target.importSession({ records: source.exportSession(KEY) });
      const copy = expect.present('the copy', await target.getSession(KEY));
      expect.same(
        'the events',
        copy.events.map(({ id }) => id),
        ids,
      );
      expect.true('the long text of an event', copy.events[600]?.content?.parts?.[0]?.text === text);
      for (const [key, value] of Object.entries(state)) expect.true(key, copy.state[key] === value);
    },
  },
];
