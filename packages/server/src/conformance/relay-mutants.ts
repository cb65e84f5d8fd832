import type { Mutant } from '@eventloom/core/conformance';
import type { LogMirror, RelayedLog, RelayHost, RunFrame, RunRelay } from '../runs/run-relay.ts';
import { InMemoryRunRelay, RunNetwork } from './in-memory-run-relay.ts';

type RelayMutant = Mutant<RunRelay>;

type Change = (relay: RunRelay) => Partial<RunRelay>;

function broken(breaks: string, how: string, change: Change): RelayMutant {
  return {
    breaks,
    how,
    make: async () => {
      const network = new RunNetwork();
      const make = (): RunRelay => {
        const relay = new InMemoryRunRelay(network);
        const methods: RunRelay = {
          attach: (host) => relay.attach(host),
          publish: (log) => relay.publish(log),
          find: (key, id) => relay.find(key, id),
          follow: (key, id, position, mirror) => relay.follow(key, id, position, mirror),
          cancel: (key, id) => relay.cancel(key, id),
          forgetSession: (key) => relay.forgetSession(key),
        };
        return { ...methods, ...change(methods) };
      };
      return { service: make(), another: make };
    },
  };
}

/** Returns a relay whose calls to mirrors are changed. */
function brokenMirror(breaks: string, how: string, change: (mirror: LogMirror) => Partial<LogMirror>): RelayMutant {
  return broken(breaks, how, (relay) => ({
    follow: (key, id, position, mirror) => {
      const methods: LogMirror = {
        mirror: (frames, gone) => mirror.mirror(frames, gone),
        mirrorEnded: (end) => mirror.mirrorEnded(end),
      };
      return relay.follow(key, id, position, { ...methods, ...change(methods) });
    },
  }));
}

/** Returns a log with some properties or methods replaced. */
function disguised(log: RelayedLog, change: Partial<RelayedLog>): RelayedLog {
  return new Proxy(log, {
    get(target, name) {
      const found: unknown = Object.hasOwn(change, name) ? Reflect.get(change, name) : Reflect.get(target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

const again = (frames: readonly RunFrame[]): RunFrame[] => [...frames, ...frames.slice(-1)];

export const relayMutants: readonly RelayMutant[] = [
  broken('attach.once', 'accepts a second server', (relay) => {
    let isAttached = false;
    return {
      attach(host) {
        if (!isAttached) relay.attach(host);
        isAttached = true;
      },
    };
  }),
  broken('find.announced', 'records no positions', (relay) => ({
    async find(key, id) {
      const found = await relay.find(key, id);
      return found && { ...found, gonePosition: 0, lastPosition: 0 };
    },
  })),
  broken('find.unknown', 'finds runs that do not exist', (relay) => ({
    find: async (key, id) =>
      (await relay.find(key, id)) ?? {
        invocationId: id,
        attempt: 1,
        gonePosition: 0,
        lastPosition: 0,
        end: undefined,
      },
  })),
  broken('find.request', 'does not find runs by their requests', (relay) => ({
    publish: (log) => relay.publish(disguised(log, { requestId: undefined })),
  })),
  broken('find.copies', 'finds the run of this process first', (relay) => {
    const own = new Map<string, string>();
    return {
      publish(log) {
        if (log.requestId !== undefined) own.set(log.requestId, log.invocationId);
        return relay.publish(log);
      },
      find: (key, id) => relay.find(key, own.get(id) ?? id),
    };
  }),
  broken('find.lost-copy', 'finds the first run of a request, even if its process lost it', (relay) => {
    return {
      publish(log) {
        if (log.requestId !== undefined && !first.has(log.requestId)) first.set(log.requestId, log.invocationId);
        return relay.publish(log);
      },
      find: (key, id) => relay.find(key, first.get(id) ?? id),
    };
  }),
  broken('find.session', 'finds runs under other keys', (relay) => {
    const keys = new Map<string, RelayedLog['key']>();
    return {
      publish(log) {
        keys.set(log.invocationId, log.key);
        shared.set(log.invocationId, log.key);
        return relay.publish(log);
      },
      find: (key, id) => relay.find(shared.get(id) ?? key, id),
    };
  }),
  brokenMirror('follow.frames', 'delivers a frame twice', (mirror) => ({
    mirror: (frames, gone) => mirror.mirror(again(frames), gone),
  })),
  broken('follow.position', 'delivers every run from its beginning', (relay) => ({
    follow: (key, id, _position, mirror) => relay.follow(key, id, 0, mirror),
  })),
  broken('follow.several', 'delivers only to the newest mirror', (relay) => {
    let leave = (): void => undefined;
    return {
      follow(key, id, position, mirror) {
        leave();
        return (leave = relay.follow(key, id, position, mirror));
      },
    };
  }),
  broken('follow.leave', 'delivers frames after a mirror was closed', (relay) => ({
    follow(key, id, position, mirror) {
      relay.follow(key, id, position, mirror);
      return () => undefined;
    },
  })),
  brokenMirror('follow.gone', 'does not report missing frames', (mirror) => ({
    mirror: (frames) => mirror.mirror(frames, 0),
  })),
  broken('end.lost', 'reports a lost log as ended', (relay) => ({
    publish: (log) => relay.publish(disguised(log, { earlyEnd: undefined })),
  })),
  broken('publish.later', 'keeps the first attempt only', (relay) => ({
    publish: (log) => relay.publish(disguised(log, { attempt: -log.attempt })),
  })),
  brokenMirror('publish.unpublished', 'reports missing frames only to new followers', (mirror) => {
    let isNew = true;
    return {
      mirror(frames, gone) {
        mirror.mirror(frames, isNew ? gone : 0);
        isNew = false;
      },
    };
  }),
  broken('publish.earlier', 'accepts frames of an earlier attempt', (relay) => ({
    publish: (log) => relay.publish(disguised(log, { attempt: 5 })),
  })),
  broken('publish.same-id', 'finds runs by their invocation id only', (relay) => {
    const key = { appName: 'app', userId: 'user', sessionId: 'any' };
    return {
      publish: (log) => relay.publish(disguised(log, { key })),
      find: (_key, id) => relay.find(key, id),
      follow: (_key, id, position, mirror) => relay.follow(key, id, position, mirror),
      cancel: (_key, id) => relay.cancel(key, id),
    };
  }),
  broken('publication.forget', 'keeps forgotten runs', (relay) => ({
    publish: (log) => ({ ...relay.publish(log), forget: () => undefined }),
  })),
  broken('publication.forget.asks-nobody', 'asks the host that forgot a run to stop it', (relay) => {
    let host: RelayHost | undefined;
    return {
      attach(server) {
        host = server;
        relay.attach(server);
      },
      publish(log) {
        const publication = relay.publish(log);
        const forget = (): void => {
          publication.forget();
          host?.stop(log.key, log.invocationId, 'forget');
        };
        return { ...publication, forget };
      },
    };
  }),
  broken('cancel.host', 'ends the mirrors without asking the host', (relay) => {
    const mirrors: LogMirror[] = [];
    return {
      follow(key, id, position, mirror) {
        mirrors.push(mirror);
        return relay.follow(key, id, position, mirror);
      },
      async cancel() {
        for (const mirror of mirrors) mirror.mirrorEnded({ kind: 'ended' });
      },
    };
  }),
  broken('cancel.ended', 'also stops runs of other sessions', (relay) => ({
    publish(log) {
      shared.set(log.invocationId, log.key);
      return relay.publish(log);
    },
    cancel: (key, id) => relay.cancel(shared.get(id) ?? key, id),
  })),
  broken('forget.session', 'does not stop the runs of a deleted session', () => ({
    forgetSession: () => Promise.resolve(),
  })),
];

/** The first run of each request, in any process of a mutant. */
const first = new Map<string, string>();

/** The session key that mutants assume for each run, so that they confuse sessions. */
const shared = new Map<string, RelayedLog['key']>();
