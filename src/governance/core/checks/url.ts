/**
 * http to anything but this very machine carries credentials or keys in the clear (spec W-6). The host must be followed
 * by a port, a path or the end: `http://localhost@elsewhere` and `http://127.0.0.1:80@elsewhere` are elsewhere.
 */
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?([/?#]|$)/;

export const isPlaintextUrl = (url: string): boolean => /^http:/i.test(url) && !LOOPBACK.test(url);
