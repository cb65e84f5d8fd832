import { type BaseSessionService, type Event, getFunctionCalls, type Session } from '@eventloom/core';
import { type AnyNodes, type Channels, END, START, StateGraph } from '@eventloom/graph';
import { Runner } from '@eventloom/runner';
import { compare, type Measurement } from '../measure.ts';
import { APP, drain } from '../setup.ts';
import { commitAll } from './commit-all.ts';
import { NUMBER_MESSAGE } from './number-message.ts';

const ANSWERS = 100;

/** A run that waits for an answer, and the id of the call that requests it. */
interface Waiting {
  readonly sessionId: string;
  readonly callId: string;
}

/**
 * Times runs of three nodes whose second node requests input: from the answer to the end of the run. Also times the commits of the same
 * events in existing sessions.
 */
export async function compareAnswers(service: BaseSessionService): Promise<Map<string, Measurement>> {
  const agent = new StateGraph<Channels, AnyNodes>({ name: 'asking' })
    .addNode('before', (input: unknown) => input)
    .addNode('ask', (_: unknown, context) => context.requestInput({ message: 'Good?' }))
    .addNode('after', (answer: unknown) => answer)
    .addEdge(START, 'before')
    .addEdge('before', 'ask')
    .addEdge('ask', 'after')
    .addEdge('after', END)
    .compile();
  const runner = new Runner({ appName: APP.appName, agent, sessionService: service, resumable: true });
  let sessions = 0;
  const ask = async (): Promise<Waiting> => {
    const sessionId = `a${sessions++}`;
    await service.createSession({ ...APP, sessionId });
    let callId = '';
    for await (const event of runner.runAsync({ ...APP, sessionId, newMessage: NUMBER_MESSAGE })) {
      callId = (event.longRunningToolIds && getFunctionCalls(event)[0]?.id) || callId;
    }
    return { sessionId, callId };
  };
  const answer = ({ sessionId, callId }: Waiting): Promise<number> => {
    const functionResponse = { id: callId, name: 'adk_request_input', response: { result: 'yes' } };
    return drain(runner.runAsync({ ...APP, sessionId, newMessage: { role: 'user', parts: [{ functionResponse }] } }));
  };
  const eventsOf = async (sessionId: string): Promise<Event[]> => [
    ...((await service.getSession({ ...APP, sessionId }))?.events ?? []),
  ];

  const first = await ask();
  const { length: asked } = await eventsOf(first.sessionId);
  await answer(first);
  const made = (await eventsOf(first.sessionId)).slice(asked);
  let waiting: Waiting[] = [];
  let empty: Session[] = [];
  return compare(
    [
      {
        name: 'ours',
        prepare: async () => {
          waiting = [];
          while (waiting.length < ANSWERS) waiting.push(await ask());
        },
        round: async () => {
          for (const one of waiting) await answer(one);
          return ANSWERS;
        },
      },
      {
        name: 'commits',
        prepare: async () => {
          empty = [];
          while (empty.length < ANSWERS) {
            empty.push(await service.createSession({ ...APP, sessionId: `c${sessions++}` }));
          }
        },
        round: async () => {
          for (const session of empty) await commitAll(service, session, made);
          return ANSWERS;
        },
      },
    ],
    15,
    10,
  );
}
