// Names that other packages of Eventloom share and applications do not need. They may change with every release.

export { openPublicUrl } from '#open-public-url';
export type { PublicRequest } from '../built-in/public-address.ts';
export { AddressRefusedError } from '../errors.ts';
