import { isBaseAgent } from '@eventloom/core/internal';
import { isRecord } from '@eventloom/core/internal';
import { live } from '@eventloom/live';
import { Runner as TextRunner, type RunnerConfig } from '@eventloom/runner';

/**
 * Runs an agent: takes a message of a user, stores it in a session, lets the agent answer, and stores and yields each event of the answer.
 * `runAsync` returns the events as a stream, `run` as an array, and `runLive` runs by voice and video. It is the `Runner` of
 * `@eventloom/runner` with `live` set. For tests and first steps, `InMemoryRunner` needs fewer options. For programs that were written for
 * `@google/adk` there is another `Runner` in `eventloom/adk`, which also takes `app` and reads keys from the environment.
 *
 * @example
 * const runner = new Runner({
 *   appName: 'helpdesk',
 *   agent,
 *   sessionService: new InMemorySessionService(),
 *   models: geminiModels({ apiKey }),
 *   autoCreateSession: true,
 * });
 * const newMessage = 'Hello';
 * for await (const event of runner.runAsync({ userId: 'ada', sessionId: 's1', newMessage })) {
 *   if (isFinalResponse(event) && event.content) console.log(stringifyContent(event));
 * }
 */
export class Runner extends TextRunner {
  /** @throws ConfigurationError for an invalid or unknown option */
  constructor(config: RunnerConfig) {
    super(isRecord(config) && !isBaseAgent(config) ? { ...config, live: config.live ?? live() } : config);
  }
}
