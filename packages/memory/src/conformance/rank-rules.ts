import { InvalidRequestError } from '@eventloom/core';
import type { MemoryRule } from './memory-rule.ts';
import { find, KEY, OWNER, said, sessionWith, TIME } from './samples.ts';

/** Rules about the order and the number of memories that a search returns. */
export const rankRules: readonly MemoryRule[] = [
  {
    id: 'rank.more-words',
    title: 'A memory with more words of the query is ranked before one with fewer.',
    async check(subject) {
      const events = [
        said('one', 'owl wolf bear'),
        said('two', 'owl'),
        said('three', 'owl wolf'),
        said('four', 'none'),
      ];
      await subject.service.addEventsToMemory({ ...KEY, events });
      const expected = ['owl wolf bear', 'owl wolf', 'owl'];
      subject.expect.same('the memories found', await find(subject, 'bear wolf owl'), expected);
    },
  },
  {
    id: 'rank.rare-words',
    title: 'A word in few memories counts more than a word in most of them.',
    async check(subject) {
      const common = Array.from({ length: 20 }, (_, number) => said(`${number}`, `what is the matter ${number}`));
      await subject.service.addEventsToMemory({ ...KEY, events: [said('rare', 'an owl'), ...common] });
      const [first] = await find(subject, 'what is the owl');
      subject.expect.same('the first', first, 'an owl');
    },
  },
  {
    id: 'rank.own-words',
    title: 'Only the user’s own memories decide how rare a word is.',
    async check(subject) {
      const { service } = subject;
      const events = Array.from({ length: 9 }, (_, number) => said(`b${number}`, number < 4 ? 'bear' : 'owl'));
      const mine = [said('one', 'owl'), said('two', 'bear'), said('three', 'owl')];
      await service.addEventsToMemory({ ...KEY, events: mine });
      await service.addEventsToMemory({
        ...KEY,
        userId: 'stranger',
        events: events.map((event) => ({ ...event, id: `s${event.id}` })),
      });
      await service.addEventsToMemory({
        ...KEY,
        appName: 'other',
        events: Array.from({ length: 9 }, (_, n) => said(`c${n}`, 'bear')),
      });
      subject.expect.same('the memories found', await find(subject, 'owl bear'), ['bear', 'owl', 'owl']);
    },
  },
  {
    id: 'rank.without-forgotten',
    title: 'Deleted memories do not count for how rare a word is.',
    async check(subject) {
      const { service } = subject;
      const events = ['one', 'two', 'three'].map((id) => said(id, 'owl wolf'));
      await service.addEventsToMemory({ ...KEY, events: [...events, said('bear', 'bear')] });
      const others = Array.from({ length: 100 }, (_, number) => said(`${number}`, 'fox'));
      await service.addSessionToMemory(sessionWith(others, 'another'));
      const [first] = await find(subject, 'owl wolf bear');
      subject.expect.same('the first before', first, 'owl wolf');
      await service.deleteMemories({ ...OWNER, sessionId: 'another' });
      const [then] = await find(subject, 'owl wolf bear');
      subject.expect.same('the first afterwards', then, 'bear');
    },
  },
  {
    id: 'rank.once-a-word',
    title: 'A word counts once, however often it occurs in the memory or the query.',
    async check(subject) {
      const events = [said('one', 'owl owl owl'), said('two', 'owl wolf'), said('three', 'wolf')];
      await subject.service.addEventsToMemory({ ...KEY, events });
      const expected = ['owl wolf', 'wolf', 'owl owl owl'];
      subject.expect.same('the memories found', await find(subject, 'owl owl owl wolf'), expected);
    },
  },
  {
    id: 'rank.later-first',
    title: 'Of memories with equal rank the latest is first, whenever it was added.',
    async check(subject) {
      const events = [3, 1, 2].map((time) => said(`${time}`, `owl ${time}`, { timestamp: TIME + time / 1000 }));
      for (const event of events) {
        await subject.service.addSessionToMemory(sessionWith([event], `session ${event.id}`));
      }
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl 3', 'owl 2', 'owl 1']);
    },
  },
  {
    id: 'rank.added-later-first',
    title: 'Of memories with equal rank and time the one added last is first.',
    async check(subject) {
      const ids = ['b', 'c', 'a', 'e', 'd', '10', '9'];
      for (const id of ids) await subject.service.addEventsToMemory({ ...KEY, events: [said(id, `owl ${id}`)] });
      subject.expect.same('the memories found', await find(subject, 'owl'), ids.map((id) => `owl ${id}`).toReversed());
    },
  },
  {
    id: 'rank.limit',
    title: 'A search returns the best memories up to its limit, 10 by default and 100 at most.',
    async check(subject) {
      const events = Array.from({ length: 120 }, (_, number) => said(`${number}`, `owl ${number}`));
      await subject.service.addEventsToMemory({ ...KEY, events });
      const newest = Array.from({ length: 120 }, (_, number) => `owl ${119 - number}`);
      subject.expect.same('without a limit', await find(subject, 'owl'), newest.slice(0, 10));
      subject.expect.same('with limit 3', await find(subject, 'owl', { limit: 3 }), newest.slice(0, 3));
      subject.expect.same('with limit 100', await find(subject, 'owl', { limit: 100 }), newest.slice(0, 100));
      subject.expect.same('with limit 1000', await find(subject, 'owl', { limit: 1000 }), newest.slice(0, 100));
    },
  },
  {
    id: 'rank.bad-limit-refused',
    title: 'A limit that is not a positive integer is InvalidRequestError.',
    async check({ service, expect }) {
      for (const limit of [0, -1, 1.5, Number.NaN, Infinity, '3' as unknown as number]) {
        const search = service.searchMemory({ ...OWNER, query: 'owl', limit });
        await expect.rejects(String(limit), search, InvalidRequestError);
      }
    },
  },
  {
    id: 'rank.except-session',
    title: 'An excluded session is not searched and does not count towards the limit.',
    async check(subject) {
      const own = Array.from({ length: 5 }, (_, number) => said(`${number}`, `owl ${number}`));
      await subject.service.addSessionToMemory(sessionWith([said('other', 'other owl')], 'another'));
      await subject.service.addSessionToMemory(sessionWith(own));
      const request = { limit: 1, exceptSessionId: KEY.sessionId };
      subject.expect.same('the memories found', await find(subject, 'owl', request), ['other owl']);
    },
  },
];
