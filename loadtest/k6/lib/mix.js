// Shares. Each round through a deck has exactly as many of each kind as its share says, in random order.

export class Deck {
  // `shares` are pairs of a kind and its number of cards.
  constructor(shares) {
    this.cards = shares.flatMap(([kind, share]) => Array(share).fill(kind));
    this.next = 0;
  }

  draw() {
    if (this.next === 0) this.shuffle();
    const drawn = this.cards[this.next];
    this.next = (this.next + 1) % this.cards.length;
    return drawn;
  }

  // Fisher and Yates.
  shuffle() {
    const { cards } = this;
    for (let last = cards.length - 1; last > 0; last -= 1) {
      const other = Math.floor(Math.random() * (last + 1));
      [cards[last], cards[other]] = [cards[other], cards[last]];
    }
  }
}
