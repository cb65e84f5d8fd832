import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Event, InMemoryRunner, type InMemoryRunnerConfig, LiveRequestQueue, type RunConfig } from 'eventloom';
import type { LiveStory } from './live-story.ts';
import { describeEvent } from './transcript.ts';

/** Options of a live stage. */
export interface LiveStageOptions {
  /** The connection to Gemini: the real one, or a fake. */
  readonly gemini: InMemoryRunnerConfig['gemini'];
  /** Receives the transcript line by line as it is produced. */
  readonly print?: (line: string) => void;
  /** The folder for files. Default `.eventloom`. */
  readonly folder?: string;
}

/** Plays a call, with a runner for the example's agent and one user. */
export class LiveStage {
  readonly runner: InMemoryRunner;
  readonly #print: NonNullable<LiveStageOptions['print']>;
  readonly #folder: string;
  readonly #events: Event[] = [];

  constructor({ agent }: LiveStory, { gemini, print, folder = '.eventloom' }: LiveStageOptions) {
    this.runner = new InMemoryRunner({ agent, gemini, autoCreateSession: true });
    this.#print = print ?? (() => undefined);
    this.#folder = folder;
  }

  /** All shown events so far. */
  get events(): readonly Event[] {
    return this.#events;
  }

  /**
   * Runs a call in which the user writes. The next text is sent when the agent's turn has ended; `undefined` waits for
   * another turn.
   */
  async talk(texts: readonly (string | undefined)[], runConfig: RunConfig): Promise<void> {
    const liveRequestQueue = new LiveRequestQueue();
    let turns = 0;
    const say = (): void => {
      const text = texts[turns];
      if (text !== undefined) liveRequestQueue.sendContent({ role: 'user', parts: [{ text }] });
      if (turns++ >= texts.length) liveRequestQueue.close();
    };
    say();
    for await (const event of this.runner.runLive({ userId: 'you', sessionId: 'first', liveRequestQueue, runConfig })) {
      this.show(event);
      if (event.turnComplete) say();
    }
  }

  /** Adds an event to the transcript. */
  show(event: Event): void {
    this.#events.push(event);
    this.note(...describeEvent(event));
  }

  /** Adds lines to the transcript. */
  note(...lines: readonly string[]): void {
    for (const line of lines) this.#print(line);
  }

  /** Returns the path of a file to write. */
  file(name: string): string {
    mkdirSync(this.#folder, { recursive: true });
    return join(this.#folder, name);
  }
}
