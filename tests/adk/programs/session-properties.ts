import { InMemorySessionService } from '@google/adk';
import type { Program } from '../stage.ts';

const program: Program = {
  replies: [],
  async main(tell) {
    const service = new InMemorySessionService();
    const state = { initial_key: 'initial_value', nested: { list: [1, 2] }, 'user:name': 'Ann', 'app:version': 3 };
    const session = await service.createSession({ appName: 'my_app', userId: 'ann', state });
    tell(Object.keys(session).toSorted());
    tell([typeof session.id, session.appName, session.userId, typeof session.lastUpdateTime]);
    tell(session.state);
    tell(JSON.stringify(session.events));
    tell(String(session.state['initial_key']));
    const other = await service.createSession({ appName: 'my_app', userId: 'ann', sessionId: 'other' });
    tell(other.state);
    const { sessions } = await service.listSessions({ appName: 'my_app', userId: 'ann' });
    tell(sessions.map(({ id, events }) => `${id === 'other' ? id : 'generated'}: ${events.length}`).toSorted());
    const key = { appName: session.appName, userId: session.userId, sessionId: session.id };
    tell(String(await service.deleteSession(key)));
    tell(String((await service.getSession(key)) === undefined));
    tell(String(await service.deleteSession(key)));
    tell((await service.listSessions({ appName: 'my_app', userId: 'ann' })).sessions.map(({ id }) => id));
  },
};
export default program;
