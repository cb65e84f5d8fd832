import { InvalidRequestError } from '@eventloom/core';
import type { MemoryRule } from './memory-rule.ts';
import { find, KEY, OWNER, said, sessionWith } from './samples.ts';

const BAD_NAMES: readonly string[] = ['', 'a\0b', 'a\ud800b', 'n'.repeat(257), '€'.repeat(86)];

/** Names that a storage might confuse with each other. */
const OWNERS = [
  { appName: 'a', userId: 'b' },
  { appName: 'a', userId: 'c' },
  { appName: 'b', userId: 'a' },
  { appName: 'a/b', userId: 'c' },
  { appName: 'a', userId: 'b/c' },
  { appName: 'A', userId: 'b' },
  { appName: 'a', userId: 'b ' },
  { appName: '__proto__', userId: 'constructor' },
  { appName: '名前', userId: "it's %_" },
  { appName: 'n'.repeat(256), userId: '€'.repeat(85) },
];

/** Rules about the owner of the memories that a search finds. */
export const scopeRules: readonly MemoryRule[] = [
  {
    id: 'scope.sessions-together',
    title: 'A search covers all sessions of the user.',
    async check(subject) {
      for (const id of ['first', 'second', 'third']) {
        await subject.service.addSessionToMemory(sessionWith([said(id, `owl ${id}`)], id));
      }
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl third', 'owl second', 'owl first']);
    },
  },
  {
    id: 'scope.owners-apart',
    title: 'A search does not find memories of another user or app.',
    async check(subject) {
      for (const [index, owner] of OWNERS.entries()) {
        await subject.service.addEventsToMemory({ ...KEY, ...owner, events: [said('one', `owl ${index}`)] });
      }
      for (const [index, owner] of OWNERS.entries()) {
        subject.expect.same('the memories found', await find(subject, 'owl', owner), [`owl ${index}`]);
      }
      subject.expect.same('the memories found by others', await find(subject, 'owl'), []);
    },
  },
  {
    id: 'scope.bad-names-refused',
    title:
      'Every method refuses a name that is empty, too long, malformed or contains NUL, with an error that names the field.',
    async check({ service, expect }) {
      for (const bad of BAD_NAMES) {
        for (const field of ['appName', 'userId', 'sessionId'] as const) {
          const key = { ...KEY, [field]: bad };
          const session = { ...sessionWith([said('one', 'owl')]), ...key, id: key.sessionId };
          const calls: Readonly<Record<string, () => Promise<unknown>>> = {
            addSessionToMemory: () => service.addSessionToMemory(session),
            addEventsToMemory: () => service.addEventsToMemory({ ...key, events: [said('one', 'owl')] }),
            deleteMemories: () => service.deleteMemories(key),
            ...(field === 'sessionId'
              ? {}
              : {
                  searchMemory: () => service.searchMemory({ ...key, query: 'owl' }),
                  deleteMemory: () => service.deleteMemory({ ...key, memoryId: 'one' }),
                }),
          };
          for (const [method, call] of Object.entries(calls)) {
            const error = await expect.rejects(`${method} with a bad ${field}`, call(), InvalidRequestError);
            expect.true(`the message of ${method} names ${field}`, error.message.includes(field));
          }
        }
        const search = service.searchMemory({ ...OWNER, query: 'owl', exceptSessionId: bad });
        await expect.rejects('searchMemory with a bad exceptSessionId', search, InvalidRequestError);
      }
      const { memories } = await service.searchMemory({ ...OWNER, query: 'owl' });
      expect.same('the memories found', memories, []);
    },
  },
];
