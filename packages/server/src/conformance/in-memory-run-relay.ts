import { ConfigurationError, type SessionKey } from '@eventloom/core';
import { RunGoesOnError } from '../errors.ts';
import type {
  LogMirror,
  RelayedLog,
  RelayHost,
  RemoteRun,
  RelayEnd,
  RunPublication,
  RunRelay,
} from '../runs/run-relay.ts';

/** A published run and its followers. */
interface PublishedRun {
  readonly log: RelayedLog;
  readonly host: RelayHost;
  readonly feeds: Set<Feed>;
  isForgotten: boolean;
}

interface Feed {
  readonly mirror: LogMirror;
  position: number;
}

/** The runs that the relays of several servers share, in memory. */
export class RunNetwork {
  readonly runs: Map<string, PublishedRun> = new Map();
}

/** A relay between servers of one process, for tests and as an example for your own relay. */
export class InMemoryRunRelay implements RunRelay {
  readonly #runs: Map<string, PublishedRun>;
  #host: RelayHost | undefined;

  /** @param network shared by the relays of all servers */
  constructor(network: RunNetwork) {
    this.#runs = network.runs;
  }

  attach(host: RelayHost): void {
    if (this.#host)
      throw new ConfigurationError('InMemoryRunRelay: is attached to another server; create one relay per server');
    this.#host = host;
  }

  publish(log: RelayedLog): RunPublication {
    const host = this.#attached();
    const name = nameOf(log.key, log.invocationId);
    const before = this.#runs.get(name);
    const run: PublishedRun = { log, host, feeds: before?.feeds ?? new Set(), isForgotten: false };
    const isCurrent = (): boolean => this.#runs.get(name) === run;
    if (!before || before.log.attempt <= log.attempt) this.#runs.set(name, run);
    if (isCurrent()) tell(run);
    return {
      announced: Promise.resolve(),
      notify: () => {
        if (!isCurrent()) return;
        tell(run);
        if (!log.isEnded) return;
        host.platform.schedule(host.keepRunsMs, () => isCurrent() && this.#runs.delete(name), { idle: true });
      },
      forget: () => void (run.isForgotten = true),
    };
  }

  async find(key: SessionKey, id: string): Promise<RemoteRun | undefined> {
    this.#attached();
    const run = this.#runs.get(nameOf(key, id)) ?? this.#findRequest(key, id);
    if (!run || run.isForgotten) return undefined;
    const { invocationId, attempt, gonePosition, lastPosition } = run.log;
    return { invocationId, attempt, gonePosition, lastPosition, end: endOf(run.log) };
  }

  /** Finds a run of a request: first one that is in progress in another process, then one that is in progress, then one that has ended. */
  #findRequest(key: SessionKey, id: string): PublishedRun | undefined {
    const runs = [...this.#runs.values()].filter(
      ({ log, isForgotten }) => !isForgotten && log.requestId === id && nameOf(log.key, '') === nameOf(key, ''),
    );
    const inProgress = runs.filter(({ log }) => !log.isEnded);
    return inProgress.find(({ host }) => host !== this.#host) ?? inProgress[0] ?? runs[0];
  }

  follow(key: SessionKey, invocationId: string, afterPosition: number, mirror: LogMirror): () => void {
    const feed: Feed = { mirror, position: afterPosition };
    const run = this.#runs.get(nameOf(key, invocationId));
    run?.feeds.add(feed);
    queueMicrotask(() => {
      const current = this.#runs.get(nameOf(key, invocationId));
      if (current?.feeds.has(feed)) tell(current);
    });
    return () => void run?.feeds.delete(feed);
  }

  async cancel(key: SessionKey, invocationId: string): Promise<void> {
    const run = this.#runs.get(nameOf(key, invocationId));
    if (run && !run.log.isEnded) run.host.stop(key, invocationId, 'cancel');
  }

  async forgetSession(key: SessionKey): Promise<void> {
    const ends: Promise<void>[] = [];
    for (const run of this.#runs.values()) {
      if (nameOf(run.log.key, '') !== nameOf(key, '')) continue;
      run.isForgotten = true;
      if (!run.log.isEnded && run.host !== this.#host) {
        const ended = Promise.withResolvers<void>();
        run.feeds.add({ mirror: { mirror: () => undefined, mirrorEnded: () => ended.resolve() }, position: 0 });
        ends.push(ended.promise);
      }
      run.host.stop(key, run.log.invocationId, 'forget');
    }
    await Promise.all(ends);
  }

  #attached(): RelayHost {
    if (this.#host) return this.#host;
    throw new ConfigurationError(
      'InMemoryRunRelay: is not attached to a server; pass it to createServer as relay first',
    );
  }
}

/** Copies new frames to the followers of a run, and its end if it has ended. */
function tell({ log, feeds }: PublishedRun): void {
  const end = endOf(log);
  for (const feed of feeds) {
    const frames = log.framesAfter(feed.position, Infinity);
    const isNew = frames.length > 0 || log.gonePosition > feed.position;
    if (isNew) feed.mirror.mirror(frames, Math.max(log.gonePosition, feed.position));
    feed.position = Math.max(feed.position, log.lastPosition);
    if (!end) continue;
    feeds.delete(feed);
    feed.mirror.mirrorEnded(end);
  }
}

function endOf({ isEnded, earlyEnd, invocationId }: RelayedLog): RelayEnd | undefined {
  if (!isEnded) return undefined;
  if (!earlyEnd) return { kind: 'ended' };
  return { kind: 'lost', error: new RunGoesOnError(`the run ${invocationId} is no longer published by its process`) };
}

function nameOf({ appName, userId, sessionId }: SessionKey, invocationId: string): string {
  return `${appName}\0${userId}\0${sessionId}\0${invocationId}`;
}
