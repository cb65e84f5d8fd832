/**
 * Writes JSON as a YAML document in block style. Strings are in double quotes with the escapes of JSON, so that every YAML parser reads the
 * same value. Keys whose value is undefined are omitted.
 */
export function toYaml(value: unknown): string {
  return `${block(value, '').trimStart()}\n`;
}

/** Returns the value as text after a key or a dash: on the same line, or on separate lines. */
function block(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []';
    return value.map((item) => `\n${indent}-${block(item, `${indent}  `)}`).join('');
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    if (entries.length === 0) return ' {}';
    return entries.map(([key, item]) => `\n${indent}${keyOf(key)}:${block(item, `${indent}  `)}`).join('');
  }
  return ` ${JSON.stringify(value) ?? 'null'}`;
}

/** Returns a key without quotes if YAML can read it only as this text. */
function keyOf(key: string): string {
  return /^[A-Za-z_][\w.-]*$/.test(key) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(key)
    ? key
    : JSON.stringify(key);
}
