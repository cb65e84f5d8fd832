/** A class, abstract ones included. */
type Class = abstract new (...args: never[]) => object;

/**
 * Answers `value instanceof self` for a class of this package that stands for one of another package: every object of the other class is an instance
 * of it. Subclasses of it answer as usual.
 */
export function isInstanceOf(self: Class, own: Class, other: Class, value: unknown): boolean {
  const { prototype } = self === own ? other : self;
  return typeof value === 'object' && value !== null && Object.prototype.isPrototypeOf.call(prototype, value);
}
