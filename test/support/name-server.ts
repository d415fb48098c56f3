import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PORT = 53; // resolv.conf can name no other
const ADDRESS = Buffer.from([127, 0, 0, 1]);
const TYPE_A = 1;

/**
 * A DNS server (RFC 1035) for one process: every name is 127.0.0.1, until it is told to say nothing about some of them.
 * `launcher` runs a program that asks this server and no other, through the system's own `getaddrinfo`: it has its own
 * /etc/resolv.conf, in a mount namespace. Needs root.
 */
export class NameServer {
  /** Questions that were left without an answer. */
  unanswered = 0;
  readonly #silent = new Set<string>();
  readonly #folder = mkdtempSync(join(tmpdir(), 'mcp-corp-dns-'));
  readonly #file = join(this.#folder, 'resolv.conf');

  private constructor(private readonly socket: Socket) {
    socket.on('message', (question, from) => {
      const name = nameIn(question);
      if (this.#silent.has(name)) this.unanswered += 1;
      else socket.send(answerTo(question), from.port, from.address);
    });
  }

  static async start(): Promise<NameServer> {
    const server = new NameServer(createSocket('udp4'));
    // Any address of 127/8 is this machine; a random one meets neither the machine's own resolver nor another test's.
    const octet = (): number => 1 + Math.floor(Math.random() * 253);
    const address = `127.${octet()}.${octet()}.${octet()}`;
    server.socket.bind(PORT, address);
    await once(server.socket, 'listening');
    writeFileSync(server.#file, `nameserver ${address}\noptions timeout:1 attempts:2\n`);
    return server;
  }

  get launcher(): readonly string[] {
    const script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
    return ['unshare', '--mount', '/bin/sh', '-c', script, this.#file];
  }

  /** Says nothing about `name` from now on. */
  silence(name: string): void {
    this.#silent.add(name);
  }

  speak(): void {
    this.#silent.clear();
  }

  close(): void {
    this.socket.close();
    rmSync(this.#folder, { recursive: true });
  }
}

const HEADER = 12;

function nameIn(question: Buffer): string {
  const labels: string[] = [];
  for (let at = HEADER; (question[at] ?? 0) !== 0; at += 1 + (question[at] ?? 0)) {
    labels.push(question.toString('latin1', at + 1, at + 1 + (question[at] ?? 0)));
  }
  return labels.join('.').toLowerCase();
}

/** 127.0.0.1 for an A question, "no such record" for any other. */
function answerTo(question: Buffer): Buffer {
  const endOfName = question.indexOf(0, HEADER) + 1;
  const asked = question.subarray(HEADER, endOfName + 4);
  const isA = question.readUInt16BE(endOfName) === TYPE_A;
  const head = Buffer.alloc(HEADER);
  question.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(isA ? 1 : 0, 6);
  const record = Buffer.concat([Buffer.from([0xc0, 0x0c, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4]), ADDRESS]);
  return Buffer.concat([head, asked, ...(isA ? [record] : [])]);
}
