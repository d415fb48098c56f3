// @ts-check
/** Preloaded into a server of somebody else that knows no host: what it listens on is this machine's alone. */
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = /** @this {Server} */ function (/** @type {unknown[]} */ ...args) {
  const [port, ...rest] = args;
  const bound =
    Number.isInteger(Number(port)) && typeof rest[0] !== 'string' ? [Number(port), '127.0.0.1', ...rest] : args;
  /** @type {unknown} */
  const listening = Reflect.apply(listen, this, bound);
  return /** @type {Server} */ (listening);
};
