import {
  type BaseSessionService,
  type Event,
  InMemoryArtifactService,
  InMemoryMemoryService,
  InMemorySessionService,
  type ModelResolver,
  type Part,
  Runner,
  type Session,
  StreamingMode,
} from 'eventloom';
import type { Story } from './story.ts';
import { describeEvent, describeMessage } from './transcript.ts';

/** Options of a stage. */
export interface StageOptions {
  /** Resolves the models that agents name. */
  readonly models: ModelResolver;
  /** Receives the transcript line by line as it is produced. */
  readonly print?: (line: string) => void;
  /** Stores the sessions. Default: sessions in memory. */
  readonly sessionService?: BaseSessionService;
}

/** Plays a story, with a runner for the example's agent and one user. */
export class Stage {
  readonly #runner: Runner;
  readonly #print: NonNullable<StageOptions['print']>;
  readonly #events: Event[] = [];
  readonly #flush: () => Promise<void>;

  constructor({ agent, resumable = false, plugins, tracing }: Story, { models, print, sessionService }: StageOptions) {
    this.#print = print ?? (() => undefined);
    const traced = tracing?.(this.#print);
    this.#flush = traced?.flush ?? (() => Promise.resolve());
    this.#runner = new Runner({
      // Each example has its own session, because one file has the sessions of all examples.
      appName: agent.name,
      agent,
      models,
      sessionService: sessionService ?? new InMemorySessionService(),
      artifactService: new InMemoryArtifactService(),
      memoryService: new InMemoryMemoryService(),
      plugins: plugins?.(this.#print) ?? [],
      autoCreateSession: true,
      resumable,
      instrumentation: traced?.instrumentation,
    });
  }

  /** The events of all runs so far, chunks included. */
  get events(): readonly Event[] {
    return this.#events;
  }

  /** Sends a message of the user, and waits for the agent's answer. */
  async say(text: string, sessionId?: string): Promise<void> {
    this.note('', ...describeMessage(text));
    await this.send({ text }, sessionId);
  }

  /** Sends parts unchanged: a text, the answer to a question, or a text with files. */
  async send(part: Part | readonly Part[], sessionId = 'first'): Promise<void> {
    const run = this.#runner.runAsync({
      userId: 'you',
      sessionId,
      newMessage: { role: 'user', parts: [part].flat() },
      runConfig: { streamingMode: StreamingMode.SSE },
    });
    for await (const event of run) {
      this.#events.push(event);
      this.note(...describeEvent(event));
    }
  }

  /** Adds lines to the transcript. */
  note(...lines: readonly string[]): void {
    for (const line of lines) this.#print(line);
  }

  /** Prints the pending spans. */
  async flushSpans(): Promise<void> {
    this.note('', 'spans');
    await this.#flush();
  }

  /** The stored session; undefined before the first message. */
  async session(sessionId = 'first'): Promise<Session | undefined> {
    const { appName, sessionService } = this.#runner;
    return sessionService.getSession({ appName, userId: 'you', sessionId });
  }

  /** Deletes the session. */
  forget(sessionId = 'first'): Promise<void> {
    const { appName, sessionService } = this.#runner;
    return sessionService.deleteSession({ appName, userId: 'you', sessionId });
  }

  /** Closes the agents. */
  close(): Promise<void> {
    return this.#runner.close();
  }
}
