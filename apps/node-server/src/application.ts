import type { Runner } from '@eventloom/runner';
import { createRunners } from './create-runners.ts';
import { isBelow } from './services/is-below.ts';
import { makeDataFolder } from './services/make-data-folder.ts';
import { openArtifacts } from './services/open-artifacts.ts';
import { openSessions } from './services/open-sessions.ts';
import type { Settings } from './settings.ts';

/** The apps with their services, ready to run. */
export interface Application {
  readonly runners: readonly Runner[];
  /** Closes the agents and the files. No run may be under way. */
  close(): Promise<void>;
}

/** @param warn told, a line each, of what is left out */
export async function openApplication(settings: Settings, warn: (line: string) => void): Promise<Application> {
  const { dataFolder, sessions, artifacts } = settings;
  if ([sessions, artifacts].some((place) => isKeptIn(dataFolder, place))) makeDataFolder(dataFolder);
  const artifactService = openArtifacts(artifacts);
  const open = await openSessions(sessions);
  try {
    const services = { sessionService: open.service, artifactService };
    const runners = await createRunners(settings, services, (failure) => warn(failure.message));
    return {
      runners,
      async close() {
        for (const runner of runners) await runner.close();
        open.close();
      },
    };
  } catch (error) {
    open.close();
    throw error;
  }
}

function isKeptIn(folder: string, place: Settings['sessions'] | Settings['artifacts']): boolean {
  if (place.kind === 'memory') return false;
  return isBelow(folder, place.kind === 'sqlite' ? place.file : place.folder);
}
