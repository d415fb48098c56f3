/** One question at a time for one thing, however many wait for it. Each waits no longer than its own patience. */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Promise<T>>();

  run(key: string, work: () => Promise<T>): Promise<T> {
    let flight = this.#flights.get(key);
    if (flight === undefined) {
      flight = work().finally(() => this.#flights.delete(key));
      this.#flights.set(key, flight);
    }
    return flight;
  }
}
