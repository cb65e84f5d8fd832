import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, workerData } from 'node:worker_threads';

/** A thread that runs a script, as the caller sees it. */
interface WorkerThread {
  post(message: object): void;
  terminate(): void;
}

/** Receives what a thread sends. `onEnd` is called once: with an error if the thread failed, without one if the script ended. */
interface WorkerListener {
  onMessage(message: unknown): void;
  onEnd(error?: Error): void;
}

/** Returns the reason why a thread cannot run a script; undefined if it can. */
export function findScriptFault(script: string): string | undefined {
  const path = toPath(script);
  // A thread takes no other relative paths.
  if (path === undefined || !(isAbsolute(path) || /^\.{1,2}[\\/]/.test(path)))
    return `expected an absolute path or a file: URL, got ${JSON.stringify(script)}`;
  return statSync(path, { throwIfNoEntry: false })?.isFile() ? undefined : `the file ${path} does not exist`;
}

function toPath(script: string): string | undefined {
  if (!script.startsWith('file:')) return script;
  try {
    return fileURLToPath(script);
  } catch {
    return undefined;
  }
}

/** Runs a script, given by its path or its `file:` URL, in a thread of its own. */
export function startWorker(script: string, data: object, listener: WorkerListener): WorkerThread {
  const worker = new Worker(toPath(script) ?? script, { workerData: data });
  let ended = false;
  const end = (error?: Error): void => {
    if (!ended) listener.onEnd(error);
    ended = true;
  };
  worker.on('message', (message: unknown) => listener.onMessage(message));
  worker.on('error', (error: unknown) => end(error instanceof Error ? error : new Error(String(error))));
  worker.on('exit', (code) =>
    end(code === 0 ? undefined : new Error(`the thread of the script ended with code ${code}`)),
  );
  return { post: (message) => worker.postMessage(message), terminate: () => void worker.terminate() };
}

/** Returns the data that `startWorker` gave to the thread of the caller; undefined in the main thread. */
export function readWorkerData(): unknown {
  return workerData;
}
