//! What a scenario mixes, and the shares in which it does.

use serde::{Deserialize, Serialize};

use super::Picker;

/// Which requests a scenario is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// One operation only, so that its cost can be told: valid exchanges, introspections of active tokens.
    #[default]
    Pure,
    /// What the reports of December 2025 mixed. Introspection and token exchange then meet tokens that must be
    /// refused too; the other scenarios had one kind of request.
    Report,
}

/// Deals kinds out in fixed shares: each round through the deck has exactly as many of each as its share says,
/// in an order that is random and repeatable.
pub(crate) struct Deck<K> {
    cards: Vec<K>,
    next: usize,
    picker: Picker,
}

impl<K: Copy> Deck<K> {
    /// A deck with so many cards of each kind.
    pub(crate) fn new(shares: &[(K, usize)], seed: usize) -> Self {
        let cards = shares.iter().flat_map(|&(kind, share)| std::iter::repeat_n(kind, share)).collect();
        Self { cards, next: 0, picker: Picker::new(seed) }
    }

    /// The next card; none of an empty deck.
    pub(crate) fn draw(&mut self) -> Option<K> {
        if self.next == 0 {
            self.shuffle();
        }
        let drawn = self.cards.get(self.next).copied();
        self.next += 1;
        if self.next >= self.cards.len() {
            self.next = 0;
        }
        drawn
    }

    /// Fisher and Yates.
    fn shuffle(&mut self) {
        for last in (1..self.cards.len()).rev() {
            self.cards.swap(last, self.picker.index(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_and_the_order_repeats() {
        let shares = [('a', 60), ('b', 35), ('c', 5)];
        let (mut one, mut again, mut other) =
            (Deck::new(&shares, 1), Deck::new(&shares, 1), Deck::new(&shares, 2));
        let round = |deck: &mut Deck<char>| (0..100).map(|_| deck.draw().unwrap()).collect::<String>();
        let (first, second) = (round(&mut one), round(&mut one));
        for drawn in [&first, &second] {
            for (kind, share) in shares {
                assert_eq!(drawn.matches(kind).count(), share, "{drawn}");
            }
        }
        assert_ne!(first, second);
        assert_eq!(round(&mut again), first);
        assert_ne!(round(&mut other), first);
        assert!(!first.starts_with(&"a".repeat(60)), "shuffled");
    }

    #[test]
    fn small_decks() {
        let mut one = Deck::new(&[('x', 1)], 0);
        assert_eq!([one.draw(), one.draw(), one.draw()], [Some('x'); 3]);
        assert_eq!(Deck::<char>::new(&[], 0).draw(), None);
    }
}
