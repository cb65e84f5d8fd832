import type { Part } from '../content/content.ts';
import type { SessionKey } from '../session/session-key.ts';
import {
  type ArtifactKey,
  type ArtifactVersion,
  BaseArtifactService,
  type LoadArtifactRequest,
  type SaveArtifactRequest,
} from './artifact-service.ts';

/** Parameters of `saveArtifact` of a session's artifact service. The app, the user and the session may be left out. */
export type SessionSaveArtifactRequest = Omit<SaveArtifactRequest, keyof SessionKey> & Partial<SessionKey>;

/** Parameters of `loadArtifact` of a session's artifact service. The app, the user and the session may be left out. */
export type SessionLoadArtifactRequest = Omit<LoadArtifactRequest, keyof SessionKey> & Partial<SessionKey>;

/** The name of an artifact, alone or with an app, a user and a session. */
export type SessionArtifactName = string | (Pick<ArtifactKey, 'filename'> & Partial<SessionKey>);

/**
 * The artifact service of a run, as `context.artifactService`: requests that name no app, user and session are about those of the run.
 *
 * @example
 * const save = async (context: InvocationContext): Promise<number | undefined> =>
 *   context.artifactService?.saveArtifact({ filename: 'notes.txt', artifact: { text: 'Call back.' } });
 */
export class SessionArtifactService extends BaseArtifactService {
  readonly #service: BaseArtifactService;
  readonly #key: SessionKey;

  constructor(service: BaseArtifactService, { appName, userId, sessionId }: SessionKey) {
    super();
    this.#service = service;
    this.#key = { appName, userId, sessionId };
  }

  override saveArtifact(request: SessionSaveArtifactRequest): Promise<number> {
    return this.#service.saveArtifact({ ...this.#key, ...request });
  }

  override loadArtifact(request: SessionLoadArtifactRequest): Promise<Part | undefined> {
    return this.#service.loadArtifact({ ...this.#key, ...request });
  }

  override listArtifactKeys(request: Partial<SessionKey> = {}): Promise<string[]> {
    return this.#service.listArtifactKeys({ ...this.#key, ...request });
  }

  override listVersions(request: SessionArtifactName): Promise<number[]> {
    return this.#service.listVersions(this.#keyOf(request));
  }

  override listArtifactVersions(request: SessionArtifactName): Promise<ArtifactVersion[]> {
    return this.#service.listArtifactVersions(this.#keyOf(request));
  }

  override getArtifactVersion(request: SessionLoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    return this.#service.getArtifactVersion({ ...this.#key, ...request });
  }

  override deleteArtifact(request: SessionArtifactName): Promise<void> {
    return this.#service.deleteArtifact(this.#keyOf(request));
  }

  #keyOf(request: SessionArtifactName): ArtifactKey {
    return { ...this.#key, ...(typeof request === 'string' ? { filename: request } : request) };
  }
}
