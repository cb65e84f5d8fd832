import { isAbsolute, relative, sep } from 'node:path';
import { closeAll, type Instrumentation } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import type { RunRelay } from '@eventloom/server';
import { createRunners } from './create-runners.ts';
import {
  makeDataFolder,
  openArtifacts,
  openCredentials,
  type OpenCredentials,
  openMemory,
  type OpenMemory,
  openSessions,
} from './services/open-services.ts';
import type { Settings } from './settings.ts';

/** The apps with their services. */
interface Application {
  readonly runners: readonly Runner[];
  /** The relay to other processes with the same sessions; undefined if other processes cannot exist. */
  readonly relay: RunRelay | undefined;
  /** Closes the agents, the files and the connections. No run may be active. */
  close(): Promise<void>;
}

/**
 * @param warn called with one line for each agent that is skipped and each failure outside runs
 * @param instrumentation observes the runs. Default: none
 */
export async function openApplication(
  settings: Settings,
  warn: (line: string) => void,
  instrumentation?: Instrumentation,
): Promise<Application> {
  const { dataFolder, sessions, artifacts, memory, credentials } = settings;
  if ([sessions, artifacts, memory, credentials].some((place) => isKeptIn(dataFolder, place)))
    makeDataFolder(dataFolder);
  const artifactService = openArtifacts(artifacts);
  const open = await openSessions(sessions, warn);
  let remembered: OpenMemory | undefined;
  let trusted: OpenCredentials | undefined;
  const closeStorage = (): Promise<void> =>
    closeAll([trusted, remembered, open].filter((storage) => storage !== undefined));
  try {
    remembered = await openMemory(memory);
    trusted = await openCredentials(credentials);
    const services = {
      sessionService: open.service,
      artifactService,
      memoryService: remembered.service,
      credentialService: trusted.service,
      instrumentation,
    };
    const runners = await createRunners(settings, services, (failure) => warn(failure.message));
    return {
      runners,
      relay: open.relay,
      close: () => closeAll([...runners, { close: closeStorage }]),
    };
  } catch (error) {
    await closeStorage();
    throw error;
  }
}

function isKeptIn(
  folder: string,
  place: Settings['sessions'] | Settings['artifacts'] | Settings['memory'] | Settings['credentials'],
): boolean {
  if (place.kind === 'memory' || place.kind === 'postgres') return false;
  return isBelow(folder, place.kind === 'sqlite' ? place.file : place.folder);
}

/** True for a path that is in the folder, or the folder itself. Both are absolute. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
