const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i;

/** True for a host that only this machine reaches: where `serve` listens without asking who anybody is. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host);
}
