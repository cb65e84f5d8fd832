import { createEvent, type Event, InvalidRequestError, ObjectType } from '@eventloom/core';
import type { MemoryRule } from './memory-rule.ts';
import { find, KEY, OWNER, said, sessionWith, TIME } from './samples.ts';

const NOT_SAID: Readonly<Record<string, Event>> = {
  'a chunk': said('1', 'owl', { partial: true }),
  'an error': { ...said('2', 'owl'), errorCode: 'SAFETY', errorMessage: 'owl' },
  'a full error': said('3', 'owl', { error: { type: 'api', message: 'owl' } }),
  'an error event': said('4', 'owl', { object: ObjectType.error }),
  'a hand-off': said('5', 'owl', { object: ObjectType.agentTransfer }),
  'the end of a run': said('6', 'owl', { object: ObjectType.runnerCompletion }),
  planning: said('7', 'owl', { object: 'preprocessing.planning' }),
  'run code': said('8', 'owl', { object: 'postprocessing.code_execution' }),
  'a node': said('9', 'owl', { nodeEvent: { eventType: 'x', category: 'text', nodeId: 'n', message: 'owl' } }),
  'a summary': said('10', 'owl', {
    actions: { compaction: { startTimestamp: 0, endTimestamp: 1, compactedContent: { parts: [{ text: 'owl' }] } } },
  }),
  'an agent called as a tool': said('11', 'owl', { branch: 'root.helper@adk-1' }),
  'a thought': said('12', '', { content: { parts: [{ text: 'owl', thought: true }] } }),
  'a call': said('13', '', { content: { parts: [{ functionCall: { name: 'owl', args: { owl: 'owl' } } }] } }),
  'a result': said('14', '', { content: { parts: [{ functionResponse: { name: 'owl', response: { owl: 'owl' } } }] } }),
  'a state change': createEvent({
    id: '15',
    author: 'agent',
    timestamp: TIME,
    actions: { stateDelta: { owl: 'owl' } },
  }),
};

/** Rules about the events of a session that are remembered. */
export const addRules: readonly MemoryRule[] = [
  {
    id: 'add.session',
    title: 'The messages of the user and the agents of a session are found, with their author, text, time and session.',
    async check({ service, expect }) {
      const question = { parts: [{ text: 'Where is the owl?' }] };
      const events = [
        said('one', '', { author: 'user', content: question, timestamp: TIME + 0.25 }),
        said('two', 'The owl sleeps.', { timestamp: TIME + 1 }),
      ];
      await service.addSessionToMemory(sessionWith(events));
      const { memories } = await service.searchMemory({ ...OWNER, query: 'owl' });
      expect.same(
        'the memories',
        memories.map(({ id: _id, ...memory }) => memory),
        [
          {
            content: { role: 'model', parts: [{ text: 'The owl sleeps.' }] },
            author: 'agent',
            timestamp: '2026-01-02T03:04:06.000Z',
            sessionId: 'session',
          },
          {
            content: { role: 'user', parts: [{ text: 'Where is the owl?' }] },
            author: 'user',
            timestamp: '2026-01-02T03:04:05.250Z',
            sessionId: 'session',
          },
        ],
      );
      expect.same('the number of ids', new Set(memories.map(({ id }) => expect.present('the id', id))).size, 2);
    },
  },
  {
    id: 'add.events',
    title: 'Events can be added without their session.',
    async check(subject) {
      await subject.service.addEventsToMemory({ ...KEY, events: [said('one', 'an owl')] });
      await subject.service.addEventsToMemory({ ...KEY, events: [] });
      subject.expect.same('the memories found', await find(subject, 'owl'), ['an owl']);
    },
  },
  {
    id: 'add.time',
    title: 'The time of a memory is precise to the millisecond.',
    async check({ service, expect }) {
      for (const [timestamp, text] of [
        [0, '1970-01-01T00:00:00.000Z'],
        [1.001, '1970-01-01T00:00:01.001Z'],
        [TIME + 0.9996, '2026-01-02T03:04:06.000Z'],
        [253_402_300_799, '9999-12-31T23:59:59.000Z'],
      ] as const) {
        await service.deleteMemories(OWNER);
        await service.addEventsToMemory({ ...KEY, events: [said('one', 'an owl', { timestamp })] });
        const { memories } = await service.searchMemory({ ...OWNER, query: 'owl' });
        expect.same(`the time of ${timestamp}`, memories[0]?.timestamp, text);
      }
    },
  },
  {
    id: 'add.again',
    title: 'An event that is added again keeps its first version, and new events of the same call are added.',
    async check(subject) {
      const { service, expect } = subject;
      await service.addSessionToMemory(sessionWith([said('one', 'first owl')]));
      await service.addSessionToMemory(sessionWith([said('one', 'other owl'), said('two', 'second owl')]));
      await service.addEventsToMemory({ ...KEY, events: [said('one', 'third owl'), said('two', 'fourth owl')] });
      await service.addEventsToMemory({ ...KEY, events: [said('three', 'third owl'), said('three', 'third owl')] });
      expect.same('the memories found', await find(subject, 'owl'), ['third owl', 'second owl', 'first owl']);
      expect.same('by a word of a later version', await find(subject, 'fourth other'), []);
    },
  },
  {
    id: 'add.same-id-elsewhere',
    title: 'Events of the same id in two sessions are two memories.',
    async check(subject) {
      await subject.service.addSessionToMemory(sessionWith([said('one', 'owl here')]));
      await subject.service.addSessionToMemory(sessionWith([said('one', 'owl there')], 'another'));
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl there', 'owl here']);
    },
  },
  {
    id: 'add.concurrent',
    title: 'Adding a session several times concurrently adds each event once.',
    async check(subject) {
      const events = Array.from({ length: 5 }, (_, number) => said(`${number}`, `owl ${number}`));
      const adds = Array.from({ length: 4 }, () => subject.service.addSessionToMemory(sessionWith(events)));
      await subject.expect.fulfils('the calls', Promise.all(adds));
      const expected = ['owl 4', 'owl 3', 'owl 2', 'owl 1', 'owl 0'];
      subject.expect.same('the memories found', await find(subject, 'owl'), expected);
    },
  },
  {
    id: 'add.text-only',
    title: 'Only the text parts of an event are added: no thoughts, calls, responses, files or signatures.',
    async check(subject) {
      const parts = [
        { text: 'secret', thought: true },
        { text: 'an', thoughtSignature: 'AQI=' },
        { inlineData: { mimeType: 'text/plain', data: 'b3ds' } },
        { functionCall: { name: 'secret', args: { secret: 'secret' } } },
        { text: '' },
        { text: 'owl' },
      ];
      const metadata = { customMetadata: { secret: 'secret' }, usageMetadata: { totalTokenCount: 1 } };
      await subject.service.addSessionToMemory(sessionWith([said('one', '', { content: { parts }, ...metadata })]));
      const { memories } = await subject.service.searchMemory({ ...OWNER, query: 'owl' });
      const content = { role: 'model', parts: [{ text: 'an' }, { text: 'owl' }] };
      subject.expect.same('the content', memories[0]?.content, content);
      subject.expect.same('by a word of another part', await find(subject, 'secret'), []);
      subject.expect.same('by a word that spans two parts', await find(subject, 'anowl'), []);
    },
  },
  {
    id: 'add.not-said',
    title: 'Partial events, errors, transfers, summaries and other events of the framework are not added.',
    async check(subject) {
      for (const [what, event] of Object.entries(NOT_SAID)) {
        await subject.service.addEventsToMemory({ ...KEY, events: [event] });
        subject.expect.same(`the memories found of ${what}`, await find(subject, 'owl'), []);
      }
    },
  },
  {
    id: 'add.transcription',
    title: 'Speech is added as its finished transcription, without the partial ones.',
    async check(subject) {
      const silent = { actions: {}, author: 'agent', timestamp: TIME, invocationId: 'e-1' };
      const events = [
        createEvent({ ...silent, id: '1', partial: true, inputTranscription: { text: 'owl chunk', finished: false } }),
        createEvent({ ...silent, id: '2', author: 'user', inputTranscription: { text: 'owl asked', finished: true } }),
        createEvent({ ...silent, id: '3', outputTranscription: { text: 'owl spoken', finished: true } }),
      ];
      await subject.service.addSessionToMemory(sessionWith(events));
      const { memories } = await subject.service.searchMemory({ ...OWNER, query: 'owl' });
      subject.expect.same(
        'the contents',
        memories.map(({ content }) => content),
        [
          { role: 'model', parts: [{ text: 'owl spoken' }] },
          { role: 'user', parts: [{ text: 'owl asked' }] },
        ],
      );
    },
  },
  {
    id: 'add.long-text',
    title: 'The first 10,000 characters of a long text are kept, and a surrogate pair is not split.',
    async check(subject) {
      const start = `owl ${'x '.repeat(4_998)}`;
      const long = said('one', '', {
        content: { parts: [{ text: start.slice(0, 5_000) }, { text: start.slice(5_000) + 'wolf' }] },
      });
      await subject.service.addSessionToMemory(sessionWith([long, said('two', `${start.slice(0, -1)}🦉 wolf`)]));
      const found = await find(subject, 'owl');
      subject.expect.same('the stored text', found, [
        start.slice(0, -1),
        `${start.slice(0, 5_000)}|${start.slice(5_000)}`,
      ]);
      subject.expect.same('by a word after it', await find(subject, 'wolf'), []);
    },
  },
  {
    id: 'add.bad-events-refused',
    title: 'An event without an id or a time is refused, and no other event of the call is added.',
    async check(subject) {
      const bad: Readonly<Record<string, unknown>> = {
        'no id': { ...said('', 'owl'), id: '' },
        'a long id': said('n'.repeat(257), 'owl'),
        'no time': { ...said('two', 'owl'), timestamp: undefined },
        'an invalid time': said('two', 'owl', { timestamp: Number.NaN }),
        milliseconds: said('two', 'owl', { timestamp: TIME * 1000 }),
        'no event': null,
        'a text': 'owl',
      };
      for (const [what, event] of Object.entries(bad)) {
        const events = [said('one', 'owl'), event as Event];
        const additions = [
          () => subject.service.addEventsToMemory({ ...KEY, events }),
          () => subject.service.addSessionToMemory(sessionWith(events)),
        ];
        for (const add of additions) await subject.expect.rejects(what, add(), InvalidRequestError);
      }
      const none = subject.service.addEventsToMemory({ ...KEY, events: undefined as unknown as Event[] });
      await subject.expect.rejects('a value that is not a list', none, InvalidRequestError);
      subject.expect.same('the memories found', await find(subject, 'owl'), []);
    },
  },
  {
    id: 'add.own-copy',
    title: 'Changing an added event or a found memory does not change the stored one.',
    async check(subject) {
      const parts = [{ text: 'an owl' }];
      const events = [said('one', '', { content: { parts } })];
      await subject.service.addSessionToMemory(sessionWith(events));
      for (const part of parts) part.text = 'a wolf';
      events.pop();
      for (const _ of ['once', 'twice']) {
        const { memories } = await subject.service.searchMemory({ ...OWNER, query: 'owl' });
        subject.expect.same('the parts', memories[0]?.content.parts, [{ text: 'an owl' }]);
        for (const part of memories[0]?.content.parts ?? []) part.text = 'a wolf';
        memories.pop();
      }
    },
  },
];
