import { type Event, RunAbortedError, serializeEvent, StreamingMode, toError, nearestNames } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import { checkId } from '@eventloom/server';
import { openApplication } from '../application.ts';
import type { CommandLine } from '../command-line/parse-command-line.ts';
import { stopEndingEarly } from '../early-signals.ts';
import { UsageError } from '../errors.ts';
import type { Settings } from '../settings.ts';
import type { Terminal } from '../terminal.ts';
import { EventPrinter } from './event-printer.ts';

/** Exit code of an interrupted program, as shells define it. */
const INTERRUPTED = 130;

/** Runs one turn and prints its events as they arrive. Resolves with the exit code. */
export async function ask(line: CommandLine, settings: Settings, terminal: Terminal): Promise<number> {
  if (line.question.trim() === '')
    throw new UsageError('ask: the question is missing; write it after the command, in quotes');
  checkIds(line);
  const application = await openApplication(settings, terminal.warn);
  const aborting = new AbortController();
  let printedError: string | undefined;
  const abort = (): void => aborting.abort();
  process.once('SIGINT', abort);
  stopEndingEarly();
  try {
    const runner = chooseRunner(application.runners, line.app);
    const { appName, sessionService, platform } = runner;
    const userId = line.user ?? 'me';
    const sessionId = line.session ?? `ask-${platform.newUuid()}`;
    await sessionService.getOrCreateSession({ appName, userId, sessionId });
    const print = line.json ? printJson(terminal) : printText(terminal);
    const stream = runner.runAsync({
      userId,
      sessionId,
      newMessage: { role: 'user', parts: [{ text: line.question }] },
      runConfig: { streamingMode: StreamingMode.SSE },
      abortSignal: aborting.signal,
    });
    for await (const event of stream) {
      print(event);
      if (event.errorMessage !== undefined) printedError = event.errorMessage;
    }
    const isKept = settings.sessions.kind !== 'memory';
    if (!line.json && line.session === undefined && isKept) terminal.print(`continue with --session ${sessionId}`);
    return 0;
  } catch (error) {
    // The error event has the same text, in JSON output too.
    if (printedError !== undefined && toError(error).message === printedError) return 1;
    if (!RunAbortedError.isInstance(error) || !aborting.signal.aborted) throw error;
    terminal.warn('interrupted; committed events are in the session');
    return INTERRUPTED;
  } finally {
    process.off('SIGINT', abort);
    await application.close();
  }
}

/**
 * Refuses ids that the server would not accept: such a session could not be read over HTTP.
 *
 * @throws UsageError
 */
function checkIds({ user, session }: CommandLine): void {
  try {
    if (user !== undefined) checkId('--user', user);
    if (session !== undefined) checkId('--session', session);
  } catch (error) {
    throw new UsageError(toError(error).message);
  }
}

function chooseRunner(runners: readonly Runner[], appName: string | undefined): Runner {
  const names = runners.map((runner) => runner.appName);
  const chosen = appName === undefined ? runners[0] : runners.find((runner) => runner.appName === appName);
  if (chosen) return chosen;
  const [meant] = appName === undefined ? [] : nearestNames(appName, names);
  throw new UsageError(
    `--app ${appName}: there is no such app; ${meant === undefined ? `there are ${names.join(', ')}` : `did you mean ${meant}?`}`,
  );
}

function printJson(terminal: Terminal): (event: Event) => void {
  return (event) => terminal.print(serializeEvent(event));
}

function printText(terminal: Terminal): (event: Event) => void {
  const printer = new EventPrinter(terminal);
  return (event) => printer.print(event);
}
