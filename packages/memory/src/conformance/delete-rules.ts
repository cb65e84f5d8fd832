import { InvalidRequestError, type MemoryEntry } from '@eventloom/core';
import type { MemoryRule, Subject } from './memory-rule.ts';
import { find, KEY, OWNER, said, sessionWith } from './samples.ts';

const ODD_IDS = ['a', 'b', 'a/b', 'b/b', 'a%2Fb', '..', '名前', '"', 'n'.repeat(256), '€'.repeat(85)];

/** Returns the only memory that a query finds. */
async function findOne({ service, expect }: Subject, query: string): Promise<MemoryEntry & { readonly id: string }> {
  const { memories } = await service.searchMemory({ ...OWNER, query });
  const memory = expect.present(`the memory of ${query}`, memories[0]);
  return { ...memory, id: expect.present('its id', memory.id) };
}

/** Rules about deleting memories. */
export const deleteRules: readonly MemoryRule[] = [
  {
    id: 'delete.one',
    title: 'A deleted memory is not found by any of its words, and the others stay.',
    async check(subject) {
      await subject.service.addSessionToMemory(sessionWith([said('one', 'red owl'), said('two', 'red wolf')]));
      const { id } = await findOne(subject, 'owl');
      await subject.service.deleteMemory({ ...OWNER, memoryId: id });
      subject.expect.same('by its own word', await find(subject, 'owl'), []);
      subject.expect.same('by a shared word', await find(subject, 'red'), ['red wolf']);
    },
  },
  {
    id: 'delete.one-stays-forgotten',
    title: 'A deleted memory is not restored when its session is added again.',
    async check(subject) {
      const session = sessionWith([said('one', 'owl one'), said('two', 'owl two')]);
      await subject.service.addSessionToMemory(session);
      const { id } = await findOne(subject, 'one');
      await subject.service.deleteMemory({ ...OWNER, memoryId: id });
      await subject.service.addSessionToMemory(session);
      await subject.service.addEventsToMemory({ ...KEY, events: session.events });
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl two']);
    },
  },
  {
    id: 'delete.odd-ids',
    title: 'Each memory has its own id, whatever the ids of its session and event.',
    async check(subject) {
      for (const sessionId of ODD_IDS) {
        await subject.service.addSessionToMemory(
          sessionWith(
            ODD_IDS.map((id) => said(id, 'owl')),
            sessionId,
          ),
        );
      }
      const { memories } = await subject.service.searchMemory({ ...OWNER, query: 'owl', limit: 100 });
      subject.expect.same('the number of ids', new Set(memories.map(({ id }) => id)).size, ODD_IDS.length ** 2);
      for (const [index, { id: memoryId = '' }] of memories.entries()) {
        await subject.service.deleteMemory({ ...OWNER, memoryId });
        const left = await find(subject, 'owl', { limit: 100 });
        subject.expect.same('the number of remaining memories', left.length, memories.length - index - 1);
      }
    },
  },
  {
    id: 'delete.missing-is-no-op',
    title: 'Deleting a memory that does not exist or belongs to another user changes nothing.',
    async check(subject) {
      const { service } = subject;
      await service.addSessionToMemory(sessionWith([said('one', 'an owl')]));
      const { id } = await findOne(subject, 'owl');
      for (const owner of [OWNER, { ...OWNER, userId: 'stranger' }, { ...OWNER, appName: 'other' }]) {
        for (const memoryId of owner === OWNER ? ['missing', 'a/b', 'a/b/c', '%', '%/%', `${id}x`] : [id]) {
          await subject.expect.fulfils(`deleting ${memoryId}`, service.deleteMemory({ ...owner, memoryId }));
        }
        const sessionId = owner === OWNER ? 'another' : undefined;
        await subject.expect.fulfils('deleting all', service.deleteMemories({ ...owner, sessionId }));
      }
      subject.expect.same('the memories found', await find(subject, 'owl'), ['an owl']);
    },
  },
  {
    id: 'delete.bad-id-refused',
    title: 'A memory id that is empty or not a string is refused.',
    async check({ service, expect }) {
      for (const memoryId of ['', undefined as unknown as string, 'a\0', 'n'.repeat(5000)]) {
        const deletion = service.deleteMemory({ ...OWNER, memoryId });
        await expect.rejects(JSON.stringify(memoryId)?.slice(0, 20) ?? 'none', deletion, InvalidRequestError);
      }
    },
  },
  {
    id: 'delete.session',
    title: 'Deleting the memories of a session keeps those of the user’s other sessions.',
    async check(subject) {
      await subject.service.addSessionToMemory(sessionWith([said('one', 'owl one'), said('two', 'owl two')]));
      await subject.service.addSessionToMemory(sessionWith([said('one', 'owl there')], 'another'));
      await subject.service.deleteMemories(KEY);
      subject.expect.same('the memories found', await find(subject, 'owl'), ['owl there']);
    },
  },
  {
    id: 'delete.user',
    title: 'Deleting the memories of a user keeps those of other users and apps.',
    async check(subject) {
      const strangers = [
        { ...OWNER, userId: 'stranger' },
        { ...OWNER, appName: 'other' },
      ];
      for (const owner of [OWNER, ...strangers]) {
        for (const sessionId of ['one', 'two']) {
          await subject.service.addEventsToMemory({
            ...owner,
            sessionId,
            events: [said(sessionId, `owl ${sessionId}`)],
          });
        }
      }
      await subject.service.deleteMemories(OWNER);
      subject.expect.same('the memories of the user', await find(subject, 'owl'), []);
      for (const owner of strangers) {
        subject.expect.same('the memories of others', await find(subject, 'owl', owner), ['owl two', 'owl one']);
      }
    },
  },
  {
    id: 'delete.all-can-come-back',
    title: 'A session can be added again after the memories of the session or the user were deleted.',
    async check(subject) {
      const session = sessionWith([said('one', 'owl one'), said('two', 'owl two')]);
      for (const request of [KEY, OWNER]) {
        await subject.service.addSessionToMemory(session);
        const { id } = await findOne(subject, 'one');
        await subject.service.deleteMemory({ ...OWNER, memoryId: id });
        await subject.service.deleteMemories(request);
        subject.expect.same('after deleting', await find(subject, 'owl'), []);
        await subject.service.addSessionToMemory(session);
        subject.expect.same('after adding again', await find(subject, 'owl'), ['owl two', 'owl one']);
      }
    },
  },
];
