import type { LiveRequestQueue } from '@eventloom/live';
import { AbortableTask } from './task.ts';

/** Parameters of an `ActiveStreamingTool`. */
export interface ActiveStreamingToolParams {
  readonly task?: AbortableTask | Promise<void> | undefined;
  readonly stream?: LiveRequestQueue | undefined;
}

/**
 * A tool that runs during a live run, and the input from the person that it receives meanwhile. Programs keep such
 * objects themselves: a tool of Eventloom that reads the person's words has `inputStream: true` in its options.
 */
export class ActiveStreamingTool {
  /** The work of the tool. */
  task: AbortableTask | undefined;
  /** Messages, audio and images of the person while the tool works. */
  stream: LiveRequestQueue | undefined;

  constructor({ task, stream }: ActiveStreamingToolParams = {}) {
    this.task = task instanceof Promise ? new AbortableTask(() => task) : task;
    this.stream = stream;
  }
}
