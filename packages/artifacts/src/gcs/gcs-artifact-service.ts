import { ConfigurationError, type MaybePromise, systemPlatform } from '@eventloom/core';
import { type OptionRules, checkOptions, integer } from '@eventloom/core/internal';
import { DriverArtifactService, type DriverArtifactServiceOptions } from '../driver-artifact-service.ts';
import { GcsArtifactDriver } from './gcs-artifact-driver.ts';
import { GcsBucket } from './gcs-bucket.ts';

/** Options of `GcsArtifactService`. */
export interface GcsArtifactServiceOptions extends DriverArtifactServiceOptions {
  /** Name of the bucket. */
  readonly bucket: string;
  /**
   * Returns an OAuth access token that may read, create and delete objects of the bucket. Called for each request, so
   * it keeps the token until shortly before that expires. Absent: requests carry no token, which an emulator accepts.
   */
  readonly accessToken?: (() => MaybePromise<string>) | undefined;
  /** URL of the service. Default `https://storage.googleapis.com`. */
  readonly endpoint?: string | undefined;
  /** Longest time of one request with its body, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

const OPTIONS: OptionRules<GcsArtifactServiceOptions> = {
  bucket: 'text',
  accessToken: 'function',
  endpoint: 'text',
  timeoutMs: integer(1),
  fetch: 'function',
  platform: 'object',
};
const BUCKET = /^[a-z\d][a-z\d._-]{1,220}[a-z\d]$/;

/**
 * Artifacts in a bucket of Cloud Storage, by its JSON API. Any number of processes may use one bucket at the same time:
 * no two saves get the same number, a version is stored completely or not at all, and a deletion removes all versions
 * at once, even if the process stops during either. A bucket whose rules lock or expire these objects cannot keep these
 * promises.
 *
 * Objects are named `app/user/session/name/version`, and `app/user/user/name/version` for artifacts of a user, as the
 * `GcsArtifactService` of `@google/adk` and adk-python names them. Parts that those have saved are read, and they read
 * parts that this service has saved. A deleted name keeps an object of a few bytes under `%deleted/` with the next
 * number, which those do not know.
 *
 * A save sends four requests, a load of the latest version five, and a load of a given version three. A listing costs
 * one for each 1,000 objects. A busy service is asked again up to four times in seven seconds. Every other refusal, and
 * a service that cannot be reached or does not answer in time, throws a StorageError; a save that rejects with one may
 * have been stored. Bytes pass through memory.
 *
 * @example
 * import { GcsArtifactService } from '@eventloom/artifacts/gcs';
 *
 * const artifacts = (accessToken: () => Promise<string>) => new GcsArtifactService({ bucket: 'my-artifacts', accessToken });
 */
export class GcsArtifactService extends DriverArtifactService {
  /**
   * @throws ConfigurationError for an invalid name of a bucket, an endpoint that is not a URL, and for an option this
   * version does not have
   */
  constructor(options: GcsArtifactServiceOptions) {
    checkOptions('GcsArtifactService', OPTIONS, options);
    const { bucket, accessToken, endpoint = 'https://storage.googleapis.com', platform = systemPlatform } = options;
    if (!BUCKET.test(bucket ?? ''))
      throw new ConfigurationError(
        `GcsArtifactService: bucket: expected the name of a bucket, got ${JSON.stringify(bucket)?.slice(0, 100)}; write { bucket: 'my-artifacts' }`,
      );
    if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
      throw new ConfigurationError(
        "GcsArtifactService: endpoint: expected a URL; write { endpoint: 'https://storage.googleapis.com' }",
      );
    const fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    const reached = {
      bucket,
      accessToken,
      endpoint: endpoint.replace(/\/$/, ''),
      fetch,
      timeoutMs: options.timeoutMs ?? 60_000,
      platform,
    };
    super(new GcsArtifactDriver(new GcsBucket(reached)), { platform });
  }
}
