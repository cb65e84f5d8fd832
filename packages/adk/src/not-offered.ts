import { NotOfferedError } from './errors.ts';

/** The place of a name of `@google/adk` that Eventloom does not have. Its type shows the advice in compiler errors, its use throws it. */
export interface NotOffered<Advice extends string> {
  readonly advice: Advice;
}

/** Makes a value that throws a NotOfferedError when it is called, constructed, extended, read, written or listed. */
export function notOffered<const Advice extends string>(name: string, advice: Advice): NotOffered<Advice> {
  const refuse = (): never => {
    throw new NotOfferedError(`${name} of @google/adk is not offered; ${advice}`);
  };
  // Inspectors and module loaders read these keys on any value, so reading them is not an error.
  const get = (target: object, key: string | symbol): unknown =>
    typeof key === 'symbol' || key === 'then' ? Reflect.get(target, key) : key === 'advice' ? advice : refuse();
  const traps = { apply: refuse, construct: refuse, get, set: refuse, ownKeys: refuse };
  return new Proxy(function () {}, traps) as never;
}
