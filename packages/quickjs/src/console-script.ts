/**
 * Script for the sandbox: a function that gets `write(stream, text)`, adds a global `console`, and returns the function
 * that converts values to text. It runs before the code and keeps the functions that it needs, so the code can only
 * affect its own output.
 */
export const CONSOLE_SCRIPT = String.raw`(write) => {
  const MAX_DEPTH = 5, MAX_ITEMS = 100;
  const { stringify } = JSON, { isArray } = Array, { keys } = Object;
  const list = (open, items, more, close) => {
    const shown = more > 0 ? [...items, '… ' + more + ' more'] : items;
    const line = shown.join(', ');
    if (shown.length === 0) return open + close;
    return line.length > 76 || line.includes('\n')
      ? open + '\n' + shown.map((item) => '  ' + item.replaceAll('\n', '\n  ')).join(',\n') + '\n' + close
      : open + ' ' + line + ' ' + close;
  };
  const show = (value, depth, seen) => {
    if (typeof value === 'string') return depth === 0 ? value : stringify(value);
    if (typeof value === 'bigint') return value + 'n';
    if (Object.is(value, -0)) return '-0';
    if (typeof value === 'function') return '[Function: ' + (value.name || 'anonymous') + ']';
    if (typeof value !== 'object' || value === null) return String(value);
    if (seen.includes(value)) return '[Circular]';
    if (value instanceof Error) return showError(value, depth, seen);
    if (value instanceof Date) return isNaN(value) ? 'Invalid Date' : value.toISOString();
    if (value instanceof RegExp) return String(value);
    const name = value.constructor?.name ?? '';
    if (value instanceof Promise) return 'Promise {}';
    if (depth >= MAX_DEPTH) return '[' + (name || 'Object') + ']';
    const inner = [...seen, value];
    const each = (item) => show(item, depth + 1, inner);
    if (isArray(value) || ArrayBuffer.isView(value)) {
      const items = [];
      for (let at = 0; at < Math.min(value.length, MAX_ITEMS); at++) items.push(each(value[at]));
      return list((isArray(value) ? '' : name + ' ') + '[', items, value.length - items.length, ']');
    }
    if (value instanceof Map) {
      const entries = [...value].slice(0, MAX_ITEMS).map(([key, item]) => each(key) + ' => ' + each(item));
      return list('Map {', entries, value.size - entries.length, '}');
    }
    if (value instanceof Set) {
      const items = [...value].slice(0, MAX_ITEMS).map(each);
      return list('Set {', items, value.size - items.length, '}');
    }
    const names = keys(value);
    const fields = names.slice(0, MAX_ITEMS).map((key) => {
      return (/^[A-Za-z_$][\w$]*$/.test(key) ? key : stringify(key)) + ': ' + each(value[key]);
    });
    return list((name === 'Object' || name === '' ? '' : name + ' ') + '{', fields, names.length - fields.length, '}');
  };
  const showError = (error, depth, seen) => {
    const text = error.name + ': ' + error.message + '\n' + (error.stack ?? '');
    const cause = error.cause === undefined ? '' : '\n  cause: ' + show(error.cause, depth + 1, [...seen, error]);
    return text.trimEnd() + cause;
  };
  const print = (stream) => (...values) => write(stream, values.map((value) => show(value, 0, [])).join(' '));
  const log = print('stdout'), error = print('stderr'), nothing = () => {};
  globalThis.console = {
    log, info: log, debug: log, dir: (value) => log(value), table: (value) => log(value), group: log,
    error, warn: error, trace: error,
    assert: (condition, ...values) => { if (!condition) error('Assertion failed', ...values); },
    groupEnd: nothing, time: nothing, timeEnd: nothing,
  };
  return (value) => show(value, 0, []);
}`;
