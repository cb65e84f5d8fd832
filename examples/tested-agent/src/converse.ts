import { fixedPlatform } from '@eventloom/testing';
import {
  type BaseLlm,
  type Event,
  getFunctionCalls,
  InMemorySessionService,
  isFinalResponse,
  type Part,
  Runner,
  stringifyContent,
} from 'eventloom';
import { agent } from './agent.ts';

const user = { userId: 'ann', sessionId: 's1' };

/** Returns the texts that the user reads, without calls, responses and chunks. */
export function textsOf(events: readonly Event[]): string[] {
  return events.filter((event) => isFinalResponse(event) && event.content).map(stringifyContent);
}

/** Creates a runner whose model is scripted, on the store and the clock of an earlier one if they are given. */
export function converse(
  model: BaseLlm,
  { platform = fixedPlatform(), sessionService = new InMemorySessionService({ platform }) } = {},
) {
  const models = () => model;
  const config = { appName: 'shop', agent, models, sessionService, platform };
  const runner = new Runner({ ...config, autoCreateSession: true, resumable: true });
  const send = (part: Part) => runner.run({ ...user, newMessage: { role: 'user', parts: [part] } });
  return {
    platform,
    sessionService,
    /** Sends a text of the user, and runs the agent until its run ends or waits for a person. */
    say: (text: string) => send({ text }),
    /** Answers the newest request with this name, such as `REQUEST_CONFIRMATION`, in the events of a run. */
    answer: (events: readonly Event[], name: string, response: Record<string, unknown>) => {
      const request = events.flatMap(getFunctionCalls).findLast((call) => call.name === name);
      return send({ functionResponse: { id: request?.id ?? `no ${name}`, name, response } });
    },
    /** Continues a run that another runner left. */
    resume: (invocationId: string) => runner.run({ ...user, invocationId }),
    session: () => sessionService.getSession({ appName: 'shop', ...user }),
  };
}
