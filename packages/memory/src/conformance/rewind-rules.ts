import type { MemoryRule } from './memory-rule.ts';
import { find, KEY, rewind, said, sessionWith, TIME } from './samples.ts';

const FIRST = said('one', 'owl one', { invocationId: 'e-first', timestamp: TIME });
const SECOND = said('two', 'owl two', { invocationId: 'e-second', timestamp: TIME + 1 });
const THIRD = said('three', 'owl three', { invocationId: 'e-third', timestamp: TIME + 2 });
const BACK = rewind('back', 'e-second', TIME + 3);
const AFTER = said('after', 'owl after', { invocationId: 'e-after', timestamp: TIME + 4 });

/** Rules about memories of events that a rewind removed. */
export const rewindRules: readonly MemoryRule[] = [
  {
    id: 'rewind.never-added',
    title: 'Events that were rewound before a session is added are not added.',
    async check(subject) {
      await subject.service.addSessionToMemory(sessionWith([FIRST, SECOND, THIRD, BACK, AFTER]));
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl after', 'owl one']);
    },
  },
  {
    id: 'rewind.added-earlier',
    title: 'Memories of rewound events are removed, also when only the rewind is added.',
    async check(subject) {
      const { service, expect } = subject;
      await service.addSessionToMemory(sessionWith([FIRST, SECOND, THIRD]));
      expect.same('before', (await find(subject, 'owl')).length, 3);
      await service.addEventsToMemory({ ...KEY, events: [BACK] });
      expect.same('afterwards', await find(subject, 'owl'), ['owl one']);
      expect.same('by another word', await find(subject, 'two three'), []);
      for (const _ of ['once', 'twice']) {
        await service.addSessionToMemory(sessionWith([FIRST, SECOND, THIRD, BACK, AFTER]));
        expect.same('of the whole session', await find(subject, 'owl'), ['owl after', 'owl one']);
      }
      await service.addEventsToMemory({ ...KEY, events: [BACK] });
      expect.same('when the rewind is added again', await find(subject, 'owl'), ['owl after', 'owl one']);
    },
  },
  {
    id: 'rewind.added-late',
    title: 'A rewind that is added late does not remove memories of later events.',
    async check(subject) {
      await subject.service.addEventsToMemory({ ...KEY, events: [AFTER] });
      await subject.service.addEventsToMemory({ ...KEY, events: [FIRST, SECOND, THIRD] });
      await subject.service.addEventsToMemory({ ...KEY, events: [BACK] });
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl after', 'owl one']);
    },
  },
  {
    id: 'rewind.covers-silent-begin',
    title: 'A rewind to an invocation without memories removes those of the events after it.',
    async check(subject) {
      const silent = {
        ...FIRST,
        id: 'silent',
        invocationId: 'e-silent',
        content: { parts: [] },
        timestamp: TIME + 0.5,
      };
      await subject.service.addSessionToMemory(sessionWith([FIRST, silent, SECOND]));
      const events = [FIRST, silent, SECOND, rewind('back', 'e-silent', TIME + 3)];
      await subject.service.addSessionToMemory(sessionWith(events));
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl one']);
    },
  },
  {
    id: 'rewind.of-a-rewind',
    title: 'Rewinding a rewind restores the memories that it removed.',
    async check(subject) {
      await subject.service.addSessionToMemory(sessionWith([FIRST, SECOND, BACK]));
      const undo = rewind('undo', 'e-back', TIME + 5);
      await subject.service.addSessionToMemory(sessionWith([FIRST, SECOND, BACK, AFTER, undo]));
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl two', 'owl one']);
    },
  },
  {
    id: 'rewind.of-equal-times',
    title: 'Memories from before the rewound invocation stay, also those of the same time.',
    async check(subject) {
      const events = ['one', 'two', 'three'].map((id) => said(id, `owl ${id}`));
      await subject.service.addEventsToMemory({ ...KEY, events });
      await subject.service.addEventsToMemory({ ...KEY, events: [rewind('back', 'e-two')] });
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl one']);
    },
  },
  {
    id: 'rewind.one-session',
    title: 'A rewind does not remove memories of another session.',
    async check(subject) {
      await subject.service.addSessionToMemory(sessionWith([SECOND], 'another'));
      await subject.service.addSessionToMemory(sessionWith([SECOND, BACK]));
      const { memories } = await subject.service.searchMemory({ ...KEY, query: 'owl' });
      subject.expect.same(
        'the sessions of the memories found',
        memories.map(({ sessionId }) => sessionId),
        ['another'],
      );
    },
  },
];
