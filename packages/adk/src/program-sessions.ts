import {
  type AppendEventRequest,
  type BaseSessionService,
  type BeginRunRequest,
  type BegunRun,
  ConfigurationError,
  type CreateSessionRequest,
  type Event,
  type GetSessionRequest,
  type Platform,
  type Session,
} from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { DriverSessionService } from '@eventloom/sessions';
import type { AdkBaseSessionService, AdkRunSessions } from './base-session-service.ts';
import { checkedSession } from './program-session.ts';
import { ProgramSessionDriver } from './program-session-driver.ts';
import { overriddenMethod, withRunState } from './session-reads.ts';

const METHODS = ['createSession', 'getSession', 'listSessions', 'deleteSession', 'appendEvent'] as const;

/**
 * The service for runs over each service of a program, so that runners with the same service of the program also share
 * the service for runs.
 */
const ADAPTED: WeakMap<object, BaseSessionService> = new WeakMap();

/**
 * Returns the service that runs need: a service of Eventloom as it is; one with the methods of the ADK, or with some that the program has
 * overridden, behind an adapter. Other values are returned too, for the `Runner` to refuse.
 * @param platform of the adapter, if the service has none yet. Default: that of the system
 * @throws ConfigurationError for a service that lacks one of the ADK's methods
 */
export function toRunSessions(
  service: BaseSessionService | AdkBaseSessionService,
  platform?: Platform,
): BaseSessionService {
  if (typeof service !== 'object' || service === null) return service;
  // Runs call other methods of a service of Eventloom, so an adapter calls those that the program has overridden.
  if (isRunSessions(service) && !hasOverrides(service)) return service;
  const missing = METHODS.find((method) => typeof service[method] !== 'function');
  if (missing)
    throw new ConfigurationError(
      `Runner: sessionService: has no method ${missing}; write a class that extends BaseSessionService, or new InMemorySessionService()`,
    );
  const known = ADAPTED.get(service) ?? new ProgramSessionService(service, platform);
  ADAPTED.set(service, known);
  return known;
}

function isRunSessions(service: BaseSessionService | AdkBaseSessionService): service is BaseSessionService {
  return 'beginRun' in service;
}

function hasOverrides(service: BaseSessionService): service is AdkRunSessions {
  return overriddenMethod(service) !== undefined;
}

/** The sessions of a service of a program. */
class ProgramSessionService extends DriverSessionService {
  readonly #service: AdkBaseSessionService;

  constructor(service: AdkBaseSessionService, platform: Platform | undefined) {
    super(new ProgramSessionDriver(service), { platform });
    this.#service = service;
  }

  override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    return super.getSession(request);
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    return super.appendEvent(request);
  }

  override async beginRun(request: BeginRunRequest): Promise<BegunRun> {
    return withRunState(await super.beginRun(request));
  }

  /** The service of the program chooses the id of a session if the caller gives none. */
  override async createSession(request: CreateSessionRequest): Promise<Session> {
    if (!isRecord(request) || request.sessionId !== undefined) return super.createSession(request);
    const created = checkedSession('createSession', await this.#service.createSession(request));
    const { appName, userId } = created;
    return (await this.getSession({ appName, userId, sessionId: created.id })) ?? created;
  }
}
