import { createServer } from '@eventloom/server';
import { isLoopbackHost, type NodeServer, serve, shutDownOnSignal } from '@eventloom/server/node';
import { missingKeyWarning } from './agents/missing-key-warning.ts';
import { openApplication } from './application.ts';
import type { CommandLine } from './command-line/parse-command-line.ts';
import { UsageError } from './errors/usage-error.ts';
import { readyLine } from './ready-line.ts';
import type { Settings } from './settings.ts';
import type { Terminal } from './terminal.ts';

/** Serves until a signal ends it. Settles with the exit code. */
export async function start(line: CommandLine, settings: Settings, terminal: Terminal): Promise<number> {
  const { host, port } = settings;
  if (!isLoopbackHost(host) && !line.allowUnauthenticated) {
    throw new UsageError(
      `--host ${host}: other machines can reach it, and nobody is asked who they are; add --allow-unauthenticated if that is meant`,
    );
  }
  const application = await openApplication(settings, terminal.warn);
  let listening: NodeServer;
  try {
    const server = createServer({
      runners: application.runners,
      relay: application.relay,
      onUnfinishedRuns: settings.unfinishedRuns,
      allowUnauthenticated: line.allowUnauthenticated,
      origins: line.origins,
      onError: (error) => console.error(error),
    });
    listening = await serve(server, { host, port });
  } catch (error) {
    await application.close();
    throw error;
  }
  const done = Promise.withResolvers<void>();
  shutDownOnSignal(listening, done.resolve);
  const warning = settings.gemini ? undefined : missingKeyWarning(application.runners);
  if (warning !== undefined) terminal.warn(warning);
  terminal.print(
    readyLine(
      listening.url,
      application.runners.map(({ appName }) => appName),
    ),
  );
  await done.promise;
  await application.close();
  return 0;
}
