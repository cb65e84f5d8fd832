import { requireArgument } from './check-arguments.ts';

/** Work that can be cancelled by the signal that it receives. */
export type TaskExecutable<T = void> = (abortSignal: AbortSignal) => Promise<T>;

/** Work that was started, and can be cancelled. */
export class AbortableTask<T = void> {
  /** The name of the class in error messages. */
  static readonly name: string = 'Task';
  readonly executable: TaskExecutable<T>;
  /** Settles with the result or the error of the work. */
  readonly promise: Promise<T>;
  readonly #abort = new AbortController();
  #isDone = false;

  /** Starts the work. @throws ConfigurationError for a value that is not a function */
  constructor(executable: TaskExecutable<T>) {
    const isFunction = typeof executable === 'function';
    requireArgument(isFunction, 'Task', 'an async function', executable, 'new Task(async (abortSignal) => { … })');
    this.executable = executable;
    // A function of a program without types may return another value.
    this.promise = Promise.resolve(executable(this.#abort.signal));
    const markDone = (): void => void (this.#isDone = true);
    this.promise.then(markDone, markDone);
  }

  /** Fires the signal of the work. */
  cancel(): void {
    this.#abort.abort();
  }

  /** Returns true once the work has resolved or rejected. */
  done(): boolean {
    return this.#isDone;
  }
}
