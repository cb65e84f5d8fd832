import type { BaseAgent, BasePlugin, Instrumentation } from 'eventloom';
import type { ScriptedStep } from '@eventloom/testing';
import type { Stage } from './stage.ts';

/** An example: an agent, the user's messages, and the models' replies for runs without a key. */
export interface Story {
  readonly agent: BaseAgent;
  /** Replies by the agent's name, one per call of its model. */
  readonly replies: Readonly<Record<string, readonly ScriptedStep[]>>;
  /** True keeps sessions in a file for a later process. Default false. */
  readonly keepsSessions?: boolean;
  /** True makes runs resumable: a run that requests input waits, and continues with the answer. Default false. */
  readonly resumable?: boolean;
  /** Creates the plugins of the runner. Their log is added to the transcript. Default: none. */
  readonly plugins?: (log: (line: string) => void) => readonly BasePlugin[];
  /** Creates the instrumentation of the runner, which prints spans. `stage.flushSpans()` prints pending ones. Default: none. */
  readonly tracing?: (print: (line: string) => void) => {
    readonly instrumentation: Instrumentation;
    readonly flush: () => Promise<void>;
  };
  /**
   * Arguments that the command line accepts after the name of the example; a word in angle brackets stands for any value. Default: none.
   */
  readonly takes?: readonly (readonly string[])[];
  /** @param args the given argument, or none */
  tell(stage: Stage, args: readonly string[]): Promise<void>;
}
