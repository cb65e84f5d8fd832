import { InvalidRequestError } from '../errors.ts';
import type { Session } from './session.ts';

/** The view of each session in which its state cannot be written. */
const VIEWS: WeakMap<Session, Session> = new WeakMap();

const READ_ONLY: ProxyHandler<object> = {
  set: refuseWrite,
  deleteProperty: refuseWrite,
  defineProperty: refuseWrite,
};

function refuseWrite(_state: object, key: string | symbol): never {
  const name = JSON.stringify(String(key));
  throw new InvalidRequestError(
    `session.state is read-only, key ${name}: in a tool or a callback write context.state.set(${name}, value); in an agent yield context.createEvent({ actions: { stateDelta: { ${name}: value } } })`,
  );
}

/** A view of a session that shows all its changes, and whose state throws when it is written. */
export function withReadOnlyState(session: Session): Session {
  const known = VIEWS.get(session);
  if (known) return known;
  const state = new Proxy(session.state, READ_ONLY);
  const view = new Proxy(session, {
    get: (target, key) => (key === 'state' ? state : Reflect.get(target, key)),
  });
  VIEWS.set(session, view);
  VIEWS.set(view, view);
  return view;
}
