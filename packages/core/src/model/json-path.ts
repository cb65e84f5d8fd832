/** The keys of a JSON path (RFC 9535) of names and indices: `$.a['b c'][0]` gives `a`, `b c`, 0. */
export function parseJsonPath(path: string): (string | number)[] {
  return Array.from(path.matchAll(SEGMENT), ([, name, index, single, double]) => {
    if (index !== undefined) return Number(index);
    return name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1');
  });
}

const SEGMENT = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;
