import { ConfigurationError } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';

/** A class, abstract ones included. */
type Class = abstract new (...args: never[]) => object;

/**
 * Answers `value instanceof self` for a class of this package that stands for one of another package: every object of
 * the other class is an instance of it. Subclasses of it answer as usual.
 */
export function isInstanceOf(self: Class, own: Class, other: Class, value: unknown): boolean {
  const { prototype } = self === own ? other : self;
  return typeof value === 'object' && value !== null && Object.prototype.isPrototypeOf.call(prototype, value);
}

/** Returns true for an object of a class of `@google/adk`, which marks its objects with symbols. */
function isOfAdk(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getOwnPropertySymbols(value).some((mark) => Symbol.keyFor(mark)?.startsWith('google.adk.'));
}

/** Describes a value in an error message. A program that moves over may have a file that still imports `@google/adk`. */
export function describeOwnOrAdk(value: unknown): string {
  return isOfAdk(value)
    ? `${describeKind(value)} of @google/adk, which is to be imported from eventloom/adk`
    : describeKind(value);
}

/** Refuses an object of a class of `@google/adk` as an option. @throws ConfigurationError */
export function refuseOfAdk(owner: string, option: string, wanted: string, value: unknown): void {
  if (isOfAdk(value))
    throw new ConfigurationError(`${owner}: ${option}: expected ${wanted}, got ${describeOwnOrAdk(value)}`);
}

/**
 * Refuses an object of a class of the program that defines a member which the ADK calls and nothing here would call.
 * @param uncalled what to write in place of each member
 * @throws ConfigurationError
 */
export function refuseUncalled(owner: string, object: object, uncalled: Readonly<Record<string, string>>): void {
  for (const [member, instead] of Object.entries(uncalled))
    if (member in object)
      throw new ConfigurationError(`${owner}: the class defines ${member}, which is not called here; write ${instead}`);
}

/**
 * Refuses an object of a class of the program that overrides a member which the ADK calls and nothing here would call.
 * @param own the class of this package that the program's class extends
 * @param uncalled what to write in place of each member
 * @throws ConfigurationError
 */
export function refuseOverridden(
  owner: string,
  object: object,
  own: Class,
  uncalled: Readonly<Record<string, string>>,
): void {
  let prototype: unknown = Object.getPrototypeOf(object);
  while (typeof prototype === 'object' && prototype !== null && prototype !== own.prototype) {
    for (const [member, instead] of Object.entries(uncalled))
      if (Object.hasOwn(prototype, member))
        throw new ConfigurationError(
          `${owner}: the class overrides ${member}, which is not called here; write ${instead}`,
        );
    prototype = Object.getPrototypeOf(prototype);
  }
}
