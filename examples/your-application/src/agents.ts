import { type AuthenticatedUser, createServer, type EventloomServer } from '@eventloom/server';
import { type BaseLlm, LlmAgent, Runner } from 'eventloom';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';

/** Returns the user of a request, from the session of your application. */
export type FindUser = (request: Request) => Promise<AuthenticatedUser | undefined>;

/** Creates the agents' part of an application. It answers below `/agents`. */
export function createAgents(model: BaseLlm, path: string, findUser: FindUser): EventloomServer {
  const runner = new Runner({
    appName: 'help',
    agent: new LlmAgent({ name: 'helper', model, instruction: 'Help the users of our shop.' }),
    sessionService: new SqliteSessionService({ path }),
    autoCreateSession: true,
  });
  return createServer({ runners: [runner], basePath: '/agents', authenticate: findUser });
}
