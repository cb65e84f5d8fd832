const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const EMAIL = /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)*$/;
const IPV4 = /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/;
const DURATION = /^P(?=.)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+S)?)?)$/;

/** A day that is not in its month becomes one of the next, and says so. */
function isDate(text: string): boolean {
  return DATE.test(text) && new Date(text).toJSON()?.startsWith(text) === true;
}

function isDateTime(text: string): boolean {
  return /^.{10}[t ]/i.test(text) && isDate(text.slice(0, 10)) && TIME.test(text.slice(11));
}

function isRegex(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** The formats of JSON Schema that are checked. Others are annotations. */
export const stringFormats: ReadonlyMap<unknown, (text: string) => boolean> = new Map([
  ['date', isDate],
  ['time', (text: string) => TIME.test(text)],
  ['date-time', isDateTime],
  ['duration', (text: string) => DURATION.test(text)],
  ['email', (text: string) => EMAIL.test(text)],
  ['uuid', (text: string) => UUID.test(text)],
  ['uri', (text: string) => URL.canParse(text)],
  ['ipv4', (text: string) => IPV4.test(text)],
  ['ipv6', (text: string) => /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`)],
  ['regex', isRegex],
]);
