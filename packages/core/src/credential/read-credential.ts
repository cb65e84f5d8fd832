import { isRecord } from '../content/json.ts';
import { readVendor } from '../event/read-json.ts';
import type { AuthCredential } from './auth-config.ts';

/** The credential in a client's answer; see `BaseCredentialService.readAnswer`. */
export function readCredential(answer: Readonly<Record<string, unknown>>): AuthCredential | undefined {
  const given = readVendor(answer, '');
  const { exchangedAuthCredential } = given;
  const credential = isRecord(exchangedAuthCredential) ? exchangedAuthCredential : given;
  const { authType } = credential;
  return typeof authType === 'string' ? { ...credential, authType } : undefined;
}
