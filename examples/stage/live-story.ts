import type { FakeLiveScript } from '@eventloom/testing/fake-gemini';
import type { BaseAgent } from 'eventloom';
import type { LiveStage } from './live-stage.ts';

/** An example of a call: an agent that listens and speaks, and the script of Gemini's side for runs without a key. */
export interface LiveStory {
  readonly agent: BaseAgent;
  /** A script for each connection, in order. */
  readonly connections: readonly FakeLiveScript[];
  /**
   * Arguments that the command line accepts after the name of the example; a word in angle brackets stands for any value. Default: none.
   */
  readonly takes?: readonly (readonly string[])[];
  /** @param args the given argument, or none */
  tell(stage: LiveStage, args: readonly string[]): Promise<void>;
}
