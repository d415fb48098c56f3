// @ts-check
// Loaded with --import: a process in which whoever opens, looks up or listens on anything ends at once with exit code 97.
import dns from 'node:dns';
import dgram from 'node:dgram';
import net from 'node:net';
import { syncBuiltinESMExports } from 'node:module';

/** @param {string} what */
const forbidden = (what) => () => {
  process.stderr.write(`NETWORK ${what}\n`);
  process.exit(97);
};
net.Socket.prototype.connect = forbidden('connect');
net.Server.prototype.listen = forbidden('listen');
net.connect = net.createConnection = forbidden('connect');
dgram.createSocket = forbidden('udp');
Object.assign(dns, { lookup: forbidden('lookup'), resolve: forbidden('lookup') });
Object.assign(dns.promises, { lookup: forbidden('lookup') });
syncBuiltinESMExports();
