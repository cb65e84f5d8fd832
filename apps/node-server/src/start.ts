import { ConfigurationError, toError } from '@eventloom/core';
import { dev, SpanStore } from '@eventloom/dev';
import { uiFiles } from '@eventloom/dev/node';
import { liveEndpoint } from '@eventloom/live/server';
import type { Runner } from '@eventloom/runner';
import { createServer, type EventloomServer, type OnUnfinishedRuns } from '@eventloom/server';
import { jwtAuthenticate } from '@eventloom/server/jwt';
import { isLoopbackHost, type NodeServer, serve, shutDownOnSignal } from '@eventloom/server/node';
import { studio } from '@eventloom/studio';
import { studioFiles } from '@eventloom/studio/node';
import { openApplication } from './application.ts';
import { DEMO_PROMPTS } from './demo/demo-agent.ts';
import type { CommandLine } from './command-line/parse-command-line.ts';
import { stopEndingEarly } from './early-signals.ts';
import { UsageError } from './errors.ts';
import { returnMemory } from './return-memory.ts';
import type { Settings } from './settings.ts';
import { missingKeyWarning, endingLine, readyText, failureText } from './start-messages.ts';
import type { Terminal } from './terminal.ts';

/** Time in which load balancers notice that the server is not ready, in milliseconds. Shorter than the drain time. */
const UNREADY_MS = 3_000;

/**
 * Serves until a signal or an uncaught error; either way the active runs are drained first. Resolves with the exit
 * code: 0 after a signal, 1 after an error.
 */
export async function start(line: CommandLine, settings: Settings, terminal: Terminal): Promise<number> {
  const { host, port, tokens, drainMs, unreadyMs = isLoopbackHost(settings.host) ? 0 : UNREADY_MS } = settings;
  if (!isLoopbackHost(host) && !tokens && !line.allowUnauthenticated) {
    throw new UsageError(
      `--host ${host}: other machines can reach this address, and requests need no authentication; require tokens with --jwks-url (see --help), or add --allow-unauthenticated`,
    );
  }
  const authenticate = tokens && jwtAuthenticate(tokens);
  const { uiFolder } = settings;
  const ui = uiFolder === undefined ? undefined : await uiFiles(uiFolder);
  // Traces contain content and are meant for developers: they are kept if only this machine can connect, or if adk-web
  // is requested.
  const spans = ui || isLoopbackHost(host) ? new SpanStore() : undefined;
  const application = await openApplication(settings, terminal.warn, spans);
  let server: EventloomServer;
  let listening: NodeServer;
  let left: readonly string[];
  try {
    left = await leftRuns(application.runners, settings.unfinishedRuns);
    server = createServer({
      live: liveEndpoint(),
      protocols: [
        studio({ files: studioFiles(), prompts: { demo: DEMO_PROMPTS } }),
        ...(spans ? [dev({ spans, ui })] : []),
      ],
      runners: application.runners,
      relay: application.relay,
      onUnfinishedRuns: settings.unfinishedRuns,
      // On loopback every client is on this machine, except a web page whose host name resolves to it (DNS rebinding):
      // the server still checks the Host header.
      authenticate,
      allowUnauthenticated: line.allowUnauthenticated && !isLoopbackHost(host),
      origins: settings.origins,
      onError: (error) => terminal.warn(failureText(error)),
    });
    listening = await serve(server, { host, port, drainMs, unreadyMs });
  } catch (error) {
    await application.close();
    throw withOption(error);
  }
  const done = Promise.withResolvers<void>();
  let exitCode = 0;
  // Unhandled rejections also arrive here. The process continues only for the drain, because its state after the error is unknown; runs
  // that do not finish are resumed at the next start.
  process.on('uncaughtException', (error: unknown) => {
    exitCode = 1;
    terminal.warn(`shutting down after an uncaught error: ${failureText(error)}`);
    listening.shutDown().then(done.resolve, done.reject);
  });
  shutDownOnSignal(listening, done.resolve, (signal) => {
    const running = server.runsInFlight;
    if (running > 0) terminal.warn(endingLine(running, drainMs, signal));
  });
  // Afterwards: Node drops a signal that has arrived if it has no handler for a moment.
  stopEndingEarly();
  returnMemory(server);
  const warning = settings.gemini ? undefined : missingKeyWarning(application.runners);
  if (warning !== undefined) terminal.warn(warning);
  terminal.print(
    readyText(
      listening.url,
      application.runners.map(({ appName }) => appName),
      { needsToken: tokens !== undefined, hasUi: ui !== undefined },
    ),
  );
  for (const runs of left) terminal.warn(runs);
  await done.promise;
  await application.close();
  return exitCode;
}

/** Adds the option for another port to the error of a port in use. */
function withOption(error: unknown): unknown {
  const cause = ConfigurationError.isInstance(error) ? error.cause : undefined;
  const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
  return isTaken
    ? new ConfigurationError(`${toError(error).message} with --port (0 chooses a free port)`, { cause })
    : error;
}

/** The verb for each action, for one unfinished run and for several. */
const BECOMES = { resume: ['is resumed', 'are resumed'], close: ['is closed', 'are closed'] } as const;

/**
 * Returns lines about the runs that are unfinished when the program starts: those of ended servers, and those whose
 * sessions are held by an active server or by the lease of a dead one. Must be called before the runs are resumed.
 */
export async function leftRuns(runners: readonly Runner[], action: OnUnfinishedRuns): Promise<string[]> {
  if (action === 'leave') return [];
  const [one, several] = BECOMES[action];
  const becomes = (count: number): string => (count === 1 ? one : several);
  const lines: string[] = [];
  for (const runner of runners) {
    const { runs, nextCursor } = await runner.listOpenRuns({});
    const now = runner.platform.now();
    const heldMs = runs.map(({ heldUntilMs }) => heldUntilMs - now).filter((ms) => ms > 0);
    const left = runs.length - heldMs.length;
    const more = nextCursor === undefined ? '' : ' or more';
    if (left > 0)
      lines.push(`${runner.appName}: ${left}${more} unfinished ${runsOf(left)} of an earlier server ${becomes(left)}`);
    if (heldMs.length > 0) {
      const seconds = Math.ceil(Math.max(...heldMs) / 1000);
      lines.push(
        `${runner.appName}: ${heldMs.length} ${runsOf(heldMs.length)} locked for ${seconds} s more ${becomes(heldMs.length)} then, unless its server still runs`,
      );
    }
  }
  return lines;
}

function runsOf(count: number): string {
  return count === 1 ? 'run' : 'runs';
}
