import { type BaseToolParams, ConfigurationError, type ToolContext } from '@eventloom/core';
import { checkOptions, isRecord, type OptionRules } from '@eventloom/core/internal';
import { LongRunningFunctionTool, type ToolInputParameters } from '@eventloom/tools';
import { findScriptFault, readWorkerData } from '#runtime';
import { findBackgroundCalls } from './background-calls.ts';
import { requireArgument } from './check-arguments.ts';

/** Options of a `BackgroundTool`. */
export interface BackgroundToolParams<P extends ToolInputParameters = undefined> extends Pick<
  BaseToolParams,
  'name' | 'description'
> {
  /** Path or `file:` URL of the script that does the work in a thread of its own. */
  readonly scriptPath: string;
  /** Schema of the arguments, as for a `FunctionTool`. Default: the tool takes no arguments. */
  readonly parameters?: P;
}

const OPTIONS: OptionRules<BackgroundToolParams> = {
  name: { is: 'text', write: "'long_calculation'" },
  description: { is: 'text', write: "'Calculates for several minutes.'" },
  scriptPath: { is: 'text', write: "fileURLToPath(new URL('./work.ts', import.meta.url))" },
  parameters: 'any',
};

/**
 * A tool whose script works in a thread of its own while the conversation continues, on Node. The run must be started
 * with `runner.runStream`, which brings the result to the model when it is there; in another run the model gets an
 * error. The script calls `getBackgroundToolParams`, then `completeBackgroundTool` or `failBackgroundTool`, and may ask
 * the user with `requestInputForBackgroundTool`.
 *
 * The thread ends with the stream and with the process. Its call has no response then, and is not run again.
 *
 * @example
 * const scriptPath = new URL('./work.ts', import.meta.url).href;
 * const tool = new BackgroundTool({ name: 'long_calculation', description: 'Calculates for several minutes.', scriptPath });
 */
export class BackgroundTool<P extends ToolInputParameters = undefined> extends LongRunningFunctionTool<P> {
  readonly scriptPath: string;

  /**
   * @throws ConfigurationError for a missing name or description, a script that is not there, an unsupported schema, and an
   * unknown option
   */
  constructor(params: BackgroundToolParams<P>) {
    checkOptions('BackgroundTool', OPTIONS, params);
    const { scriptPath, ...options } = params;
    const fault = scriptPath ? findScriptFault(scriptPath) : 'is missing';
    if (fault !== undefined)
      throw new ConfigurationError(
        `BackgroundTool: scriptPath${scriptPath ? ':' : ''} ${fault}; write scriptPath: fileURLToPath(new URL('./work.ts', import.meta.url))`,
      );
    super({ ...options, execute: (args, context) => this.#start(args, context) });
    this.scriptPath = scriptPath;
  }

  #start(args: unknown, context: ToolContext): void {
    const calls = findBackgroundCalls(context);
    if (!calls)
      throw new ConfigurationError(
        `BackgroundTool "${this.name}" works only in runner.runStream({ userId, sessionId, inputStream }), because its result comes after the run`,
      );
    calls.start({ name: this.name, id: context.functionCallId, script: this.scriptPath, args });
  }
}

/** The port of the script's thread: `parentPort` of `node:worker_threads`. */
export interface BackgroundPort {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  off(event: 'message', listener: (message: unknown) => void): unknown;
}

/** Returns the arguments of the call, in the script of a `BackgroundTool`; undefined elsewhere. */
export async function getBackgroundToolParams(): Promise<unknown> {
  const data = readWorkerData();
  return isRecord(data) ? data['parameters'] : undefined;
}

/** Sends the result of the call, in the script of a `BackgroundTool`. The first result or failure counts. */
export function completeBackgroundTool(port: BackgroundPort, result: Record<string, unknown>): void {
  requirePort('completeBackgroundTool', port, 'completeBackgroundTool(parentPort, { result })');
  port.postMessage({ type: 'worker_completed', result });
}

/** Ends the call with an error, in the script of a `BackgroundTool`. The model reads it as `{ error }`. */
export function failBackgroundTool(port: BackgroundPort, error: string): void {
  requirePort('failBackgroundTool', port, 'failBackgroundTool(parentPort, message)');
  port.postMessage({ type: 'worker_error', error });
}

/**
 * Asks the user, in the script of a `BackgroundTool`. The stream yields the hint as a text of the agent; the user's
 * next message goes to the script instead of the model.
 * @returns the answer as `{ text }`
 */
export async function requestInputForBackgroundTool(
  port: BackgroundPort,
  hint: string,
  payload?: unknown,
): Promise<unknown> {
  requirePort('requestInputForBackgroundTool', port, 'requestInputForBackgroundTool(parentPort, hint)');
  return new Promise((resolve) => {
    const onMessage = (message: unknown): void => {
      if (!isRecord(message) || message['type'] !== 'resume_input') return;
      port.off('message', onMessage);
      resolve(message['parameters']);
    };
    port.on('message', onMessage);
    port.postMessage({ type: 'require_input', toolConfirmation: { hint, payload } });
  });
}

function requirePort(caller: string, port: unknown, write: string): void {
  const isPort = typeof port === 'object' && port !== null && 'postMessage' in port;
  requireArgument(isPort, caller, 'parentPort of node:worker_threads', port, write);
}
