const SURROGATES = 0xd800;
const AFTER_SURROGATES = 0xe000;

/**
 * Compares two texts by their code points, which is the order of their bytes in UTF-8. Returns a number below, equal to or above 0.
 * Operators would compare UTF-16 units, which put characters above U+FFFF before those from U+E000 on.
 */
export function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const unit = one.charCodeAt(index);
    const otherUnit = other.charCodeAt(index);
    if (unit === otherUnit) continue;
    const isAstral = isSurrogate(unit);
    return isAstral === isSurrogate(otherUnit) ? unit - otherUnit : isAstral ? 1 : -1;
  }
  return one.length - other.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= SURROGATES && unit < AFTER_SURROGATES;
}
