// @ts-check
/** What an engine leaves in the machine's firewall and links when it ends, and how to take exactly that away again. */
import { attempt, run } from './commands.mjs';

const TABLES = ['filter', 'nat', 'mangle'];
const BRIDGE = /^(?:docker0|docker_gwbridge|br-[0-9a-f]{12})$/;
/** Rules of an engine name its chains, its bridges, the networks that it gives to bridges, or the port of its overlay networks. */
const OF_AN_ENGINE = /DOCKER|docker|br-[0-9a-f]{12}|172\.(?:1[6-9]|2\d|3[01])\.|dport 4789/i;

/** @typedef {{ rules: Map<string, string[]>, links: string[] }} Firewall */

/** @returns {Promise<Firewall>} */
export async function firewallNow() {
  /** @type {Map<string, string[]>} */
  const rules = new Map();
  for (const table of TABLES) rules.set(table, (await run('iptables', ['-t', table, '-S'])).split('\n'));
  return { rules, links: await links() };
}

/** @param {Firewall} before */
export async function restoreFirewall(before) {
  const now = await firewallNow();
  for (const table of TABLES) {
    const known = new Set(before.rules.get(table));
    const added = (now.rules.get(table) ?? []).filter((rule) => !known.has(rule));
    for (const rule of added.filter((each) => each.startsWith('-A ') && OF_AN_ENGINE.test(each))) {
      await attempt('iptables', ['-t', table, '-D', ...words(rule.slice(3))]);
    }
    const chains = added
      .filter((each) => each.startsWith('-N ') && OF_AN_ENGINE.test(each))
      .map((each) => each.slice(3));
    for (const flag of ['-F', '-X']) for (const chain of chains) await attempt('iptables', ['-t', table, flag, chain]);
    // The engine turns the policy of FORWARD to DROP.
    for (const policy of (before.rules.get(table) ?? []).filter((rule) => rule.startsWith('-P '))) {
      if (!(now.rules.get(table) ?? []).includes(policy)) await run('iptables', ['-t', table, ...words(policy)]);
    }
  }
  for (const link of now.links.filter((each) => BRIDGE.test(each) && !before.links.includes(each))) {
    await attempt('ip', ['link', 'delete', link]);
  }
}

/** @param {string} rule */
const words = (rule) => (rule.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"|"$/g, ''));

async function links() {
  const { stdout } = await attempt('ip', ['-o', 'link']);
  return stdout.split('\n').flatMap((line) => /^\d+: ([^:@]+)/.exec(line)?.[1] ?? []);
}
