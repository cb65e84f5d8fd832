import type { BaseSessionService, BeginRunRequest, EndRunRequest } from '@eventloom/core';

/** The session service of a process that is killed at one of its commits. */
export interface MortalService {
  readonly service: BaseSessionService;
  /** Resolves when the process is dead. */
  readonly died: Promise<void>;
  readonly isDead: () => boolean;
}

/**
 * Kills a process at the commit with this number, from 1, and with `isAfter` once that is stored. From then on the store gets nothing, and
 * answers nothing.
 */
export function mortalService(service: BaseSessionService, at: number, isAfter: boolean): MortalService {
  let commits = 0;
  let isDead = false;
  const { promise: died, resolve } = Promise.withResolvers<void>();
  const { promise: never } = Promise.withResolvers<never>();
  const die = (): Promise<never> => {
    isDead = true;
    resolve();
    return never;
  };
  const proxy = new Proxy(service, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      const bound = found.bind(target) as (...given: unknown[]) => unknown;
      return (...given: unknown[]): unknown => {
        if (isDead) return never;
        if (!isCommit(name, given) || ++commits < at) return bound(...given);
        return isAfter ? Promise.resolve(bound(...given)).then(die, die) : die();
      };
    },
  });
  return { service: proxy, died, isDead: () => isDead };
}

function isCommit(name: string | symbol, [request, end]: readonly unknown[]): boolean {
  if (name === 'beginRun') return (request as BeginRunRequest).message !== undefined;
  if (name === 'endRun') return (end as EndRunRequest).event !== undefined;
  return name === 'appendEvent' || name === 'appendEvents' || name === 'recordToolCall' || name === 'releaseLease';
}
