import { isRecord, setOwn } from '@eventloom/core';

type JsonRecord = Record<string, unknown>;

/** A body of JSON with further fields; objects that are in both are merged, and else the further field wins. */
export function mergeBody(body: string, extra: JsonRecord): string {
  return Object.keys(extra).length === 0 ? body : JSON.stringify(merge(JSON.parse(body) as JsonRecord, extra));
}

function merge(own: JsonRecord, extra: JsonRecord): JsonRecord {
  const merged = { ...own };
  for (const [name, value] of Object.entries(extra)) {
    const known = Object.hasOwn(own, name) ? own[name] : undefined;
    setOwn(merged, name, isRecord(known) && isRecord(value) ? merge(known, value) : value);
  }
  return merged;
}
